// Arrays of chunk addresses in HDF5's latest format: fixed arrays, for data sets that do not grow
// without limit, and extensible arrays, for those that do in one dimension.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "checkpoint/hdf5_reader/file_regions.h"

namespace lockstep {

/// Element number `index` of an array: an address, and for filtered chunks their bytes and a mask.
struct ArrayElement {
  std::uint64_t index;
  RegionCursor body;
  bool is_filtered;
};
using TakeElement = std::function<void(ArrayElement)>;

/// Call `take` with each element, in order, except those of pages that were never written.
void read_fixed_array(FileRegions& regions, std::uint64_t address, const std::string& object,
                      const TakeElement& take);
void read_extensible_array(FileRegions& regions, std::uint64_t address, const std::string& object,
                           const TakeElement& take);

}  // namespace lockstep
