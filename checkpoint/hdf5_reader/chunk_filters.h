// Undoes HDF5's filters of a chunk: gzip, shuffle, fletcher32.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/hdf5_reader/file_regions.h"
#include "checkpoint/hdf5_reader/stored_dataset.h"

namespace lockstep {

/// The `bytes` of the chunk before the filters; the filters in `mask` were not applied. Error
/// naming `object` if it has another number of bytes or its checksum is wrong.
std::vector<std::byte> undo_filters(std::vector<std::byte> stored,
                                    const std::vector<StoredFilter>& filters, std::uint32_t mask,
                                    std::uint64_t bytes, const FileRegions& regions,
                                    const std::string& object);

}  // namespace lockstep
