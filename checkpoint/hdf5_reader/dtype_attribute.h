// The text attribute "dtype" of an HDF5 data set, which distinguishes bf16 and bool from u16 and
// u8.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/hdf5_reader/file_regions.h"
#include "checkpoint/hdf5_reader/global_heap.h"
#include "checkpoint/hdf5_reader/object_header.h"

namespace lockstep {

/// "" if there is no such attribute, or it is not a single short text.
std::string dtype_attribute(FileRegions& regions, GlobalHeap& texts,
                            const std::vector<HeaderMessage>& messages, const std::string& object);

}  // namespace lockstep
