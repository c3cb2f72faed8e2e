// The elements of an HDF5 data set, as they are stored.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/hdf5_reader/chunk_index.h"
#include "checkpoint/hdf5_reader/file_regions.h"
#include "checkpoint/hdf5_reader/stored_dataset.h"

namespace lockstep {

class ElementReader {
 public:
  /// Finds the elements in the file. Error if some were never written: HDF5 would return a fill
  /// value for them, and training on such values must not go unnoticed. The arguments must outlive
  /// this.
  ElementReader(FileRegions& regions, const StoredDataset& dataset, std::string object);

  /// All elements, the last dimension fastest, in the file's byte order.
  void read(std::span<std::byte> out);

 private:
  void find();
  void require_all(std::uint64_t written, std::uint64_t parts) const;
  void read_contiguous(std::span<std::byte> out);
  void read_chunk(const StoredChunk& chunk, std::span<std::byte> out);
  void place_chunk(const StoredChunk& chunk, std::span<const std::byte> bytes,
                   std::span<std::byte> out) const;
  bool reaches_beyond(const StoredChunk& chunk) const;

  FileRegions& regions_;
  const StoredDataset& dataset_;
  std::string object_;
  std::vector<std::uint64_t> sizes_;
  std::uint64_t chunk_bytes_ = 0;
  std::vector<StoredChunk> chunks_;
};

}  // namespace lockstep
