// Finds the chunks of an HDF5 data set in the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/hdf5_reader/file_regions.h"
#include "checkpoint/hdf5_reader/stored_dataset.h"

namespace lockstep {

struct StoredChunk {
  std::vector<std::uint64_t> place;  ///< in the grid of chunks
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint32_t mask = 0;  ///< bit i: filter i was not applied to it
};

/// The size of the grid of chunks that covers all elements.
std::vector<std::uint64_t> chunk_grid(const StoredDataset& dataset);

/// All chunks that were written and have elements of the data set, each once. `chunk_bytes` is the
/// size of a chunk before filters.
std::vector<StoredChunk> find_chunks(FileRegions& regions, const StoredDataset& dataset,
                                     std::uint64_t chunk_bytes, const std::string& object);

}  // namespace lockstep
