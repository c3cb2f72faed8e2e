// HDF5's fractal heaps, which store many links of a group, or many attributes of an object.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/hdf5_reader/file_regions.h"

namespace lockstep {

class FractalHeap {
 public:
  /// Reads all blocks of the heap whose header is at `address`.
  FractalHeap(FileRegions& regions, std::uint64_t address, std::string object);

  std::size_t id_bytes() const { return id_bytes_; }
  /// The object with this id; nothing for an object that is stored separately, because it is large,
  /// or inside its id.
  std::optional<RegionCursor> find(RegionCursor id) const;

 private:
  void read_direct(std::uint64_t address, std::uint64_t offset, std::uint64_t bytes);
  void read_indirect(std::uint64_t address, std::uint64_t offset, std::uint64_t rows);
  std::uint64_t row_bytes(std::uint64_t row) const;

  FileRegions& regions_;
  std::string object_;
  std::size_t id_bytes_ = 0;
  std::size_t offset_bytes_ = 0;  // that an offset takes in an id, and in a block's head
  std::size_t length_bytes_ = 0;
  bool has_checksums_ = false;
  std::uint64_t width_ = 0;
  std::uint64_t first_bytes_ = 0;                           // of blocks of the first two rows
  std::uint64_t direct_rows_ = 0;                           // whose blocks hold objects
  std::map<std::uint64_t, std::vector<std::byte>> blocks_;  // by where in the heap they begin
};

}  // namespace lockstep
