// HDF5's global heap: collections of values of variable length, such as texts.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/hdf5_reader/file_regions.h"

namespace lockstep {

class GlobalHeap {
 public:
  explicit GlobalHeap(FileRegions& regions) : regions_(regions) {}

  /// Object `index` of the collection at `address`. Error if there is none.
  std::span<const std::byte> find(std::uint64_t address, std::uint32_t index);

 private:
  struct Collection {
    std::vector<std::byte> bytes;
    std::map<std::uint32_t, std::span<const std::byte>> objects;
  };
  const Collection& collection_at(std::uint64_t address);

  FileRegions& regions_;
  std::map<std::uint64_t, Collection> collections_;
};

}  // namespace lockstep
