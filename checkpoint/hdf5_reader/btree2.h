// HDF5's version 2 B-trees: records of one size, in their order.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "checkpoint/hdf5_reader/file_regions.h"

namespace lockstep {

/// Calls `take` with each record of the tree whose header is at `address`, and with the tree's
/// kind.
void for_each_record(FileRegions& regions, std::uint64_t address, const std::string& object,
                     const std::function<void(RegionCursor record, int kind)>& take);

}  // namespace lockstep
