#include "checkpoint/hdf5_reader/read_elements.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "checkpoint/hdf5_reader/chunk_filters.h"

namespace lockstep {
namespace {

using Layout = StoredElements::Layout;

/// HDF5's own limit is 2^32; less here, so that sizes with checksums still fit zlib's numbers.
constexpr std::uint64_t kLargestChunk = (std::uint64_t{1} << 32) - 4096;

}  // namespace

ElementReader::ElementReader(FileRegions& regions, const StoredDataset& dataset, std::string object)
    : regions_(regions), dataset_(dataset), object_(std::move(object)) {
  for (const std::int64_t size : dataset.shape.sizes())
    sizes_.push_back(static_cast<std::uint64_t>(size));
  if (dataset.shape.elements() > 0) find();
}

void ElementReader::find() {
  const StoredElements& stored = dataset_.elements;
  if (stored.layout == Layout::kContiguous) require_all(stored.address == kUndefined ? 0 : 1, 1);
  if (stored.layout != Layout::kChunked) return;
  chunk_bytes_ = dataset_.element.bytes;
  for (const std::uint64_t size : stored.chunk)
    if (__builtin_mul_overflow(chunk_bytes_, size, &chunk_bytes_) || chunk_bytes_ > kLargestChunk)
      regions_.fail(object_, "a chunk is too large");
  chunks_ = find_chunks(regions_, dataset_, chunk_bytes_, object_);
  std::uint64_t parts = 1;
  for (const std::uint64_t size : chunk_grid(dataset_)) parts *= size;
  require_all(chunks_.size(), parts);
}

void ElementReader::require_all(std::uint64_t written, std::uint64_t parts) const {
  if (written >= parts) return;
  refuse(regions_, object_,
         parts == 1 ? std::string("was never written")
                    : fmt::format("has {} chunks, of which {} were never written; write them, or "
                                  "make the data set smaller",
                                  parts, parts - written));
}

void ElementReader::read(std::span<std::byte> out) {
  if (out.empty()) return;
  if (dataset_.elements.layout != Layout::kChunked) return read_contiguous(out);
  for (const StoredChunk& chunk : chunks_) read_chunk(chunk, out);
}

void ElementReader::read_contiguous(std::span<std::byte> out) {
  const StoredElements& stored = dataset_.elements;
  const bool is_compact = stored.layout == Layout::kCompact;
  const std::uint64_t bytes = is_compact ? stored.compact.size() : stored.bytes;
  if (bytes != out.size())
    regions_.fail(object_, fmt::format("{} bytes are stored, not {}", bytes, out.size()));
  if (is_compact) {
    std::ranges::copy(stored.compact, out.begin());
    return;
  }
  regions_.claim(stored.address, bytes, object_);
  regions_.read_into(stored.address, out, object_);
}

bool ElementReader::reaches_beyond(const StoredChunk& chunk) const {
  for (std::size_t i = 0; i < sizes_.size(); ++i)
    if (sizes_[i] / dataset_.elements.chunk[i] == chunk.place[i]) return true;
  return false;
}

void ElementReader::read_chunk(const StoredChunk& chunk, std::span<std::byte> out) {
  const StoredElements& stored = dataset_.elements;
  const bool is_filtered =
      !stored.filters.empty() && (stored.edges_are_filtered || !reaches_beyond(chunk));
  if (!is_filtered && chunk.bytes != chunk_bytes_)
    regions_.fail(object_, fmt::format("a chunk has {} bytes, not {}", chunk.bytes, chunk_bytes_));
  if (chunk.bytes > kLargestChunk) regions_.fail(object_, "a chunk is too large");
  std::vector<std::byte> bytes = regions_.read(chunk.address, chunk.bytes, object_);
  if (is_filtered)
    bytes =
        undo_filters(std::move(bytes), stored.filters, chunk.mask, chunk_bytes_, regions_, object_);
  place_chunk(chunk, bytes, out);
}

/// Row by row of the last dimension, up to the end of the data set.
void ElementReader::place_chunk(const StoredChunk& chunk, std::span<const std::byte> bytes,
                                std::span<std::byte> out) const {
  const std::vector<std::uint64_t>& chunk_sizes = dataset_.elements.chunk;
  std::size_t rank = sizes_.size();
  std::size_t element = dataset_.element.bytes;
  // Dimensions that every chunk covers completely are part of an element.
  while (rank > 1 && chunk_sizes[rank - 1] == sizes_[rank - 1]) element *= sizes_[--rank];
  std::vector<std::uint64_t> first(rank);
  std::vector<std::uint64_t> count(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    first[i] = chunk.place[i] * chunk_sizes[i];
    count[i] = std::min(chunk_sizes[i], sizes_[i] - first[i]);
  }
  std::vector<std::uint64_t> at(rank);  // of a row in the chunk
  while (true) {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      from = from * chunk_sizes[i] + at[i];
      to = to * sizes_[i] + first[i] + at[i];
    }
    std::memcpy(out.data() + to * element, bytes.data() + from * element,
                count[rank - 1] * element);
    std::size_t i = rank - 1;
    while (i > 0 && ++at[i - 1] == count[i - 1]) at[--i] = 0;
    if (i == 0) return;
  }
}

}  // namespace lockstep
