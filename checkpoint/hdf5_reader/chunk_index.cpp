#include "checkpoint/hdf5_reader/chunk_index.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "checkpoint/hdf5_reader/btree2.h"
#include "checkpoint/hdf5_reader/chunk_arrays.h"

namespace lockstep {
namespace {

using namespace std::string_view_literals;
using Place = std::vector<std::uint64_t>;

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

class ChunkFinder {
 public:
  ChunkFinder(FileRegions& regions, const StoredDataset& dataset, std::uint64_t chunk_bytes,
              std::string object)
      : regions_(regions),
        dataset_(dataset),
        chunk_bytes_(chunk_bytes),
        object_(std::move(object)),
        grid_(chunk_grid(dataset)) {}

  std::vector<StoredChunk> find() {
    const ChunkIndex& index = dataset_.elements.index;
    if (index.address == kUndefined) return {};
    switch (index.kind) {
      case ChunkIndex::Kind::kTree1: read_tree(index.address, std::nullopt); break;
      case ChunkIndex::Kind::kTree2: read_tree2(index.address); break;
      case ChunkIndex::Kind::kSingle:
        add({Place(grid_.size(), 0), index.address,
             index.single_bytes == 0 ? chunk_bytes_ : index.single_bytes, index.single_mask});
        break;
      case ChunkIndex::Kind::kImplicit: find_implicit(index.address); break;
      case ChunkIndex::Kind::kFixedArray:
      case ChunkIndex::Kind::kExtensibleArray: read_array(index); break;
    }
    return std::move(chunks_);
  }

 private:
  bool is_within(const Place& place) const {
    for (std::size_t i = 0; i < place.size(); ++i)
      if (place[i] >= grid_[i]) return false;
    return true;
  }

  void add(StoredChunk chunk) {
    if (chunk.address != kUndefined && is_within(chunk.place)) chunks_.push_back(std::move(chunk));
  }

  /// Trees have their records in order, so that a chunk that occurs twice is detected.
  void add_next(StoredChunk chunk) {
    if (last_ && *last_ >= chunk.place)
      regions_.fail(object_, "the tree of its chunks is not in order");
    last_ = chunk.place;
    add(std::move(chunk));
  }

  // `level` is that of the node; nothing for the root, which states its own.
  void read_tree(std::uint64_t address, std::optional<int> level) {
    constexpr std::uint64_t kPrefixBytes = 24;
    const auto prefix = regions_.read(address, kPrefixBytes, object_);
    RegionCursor in(regions_, object_, prefix);
    in.expect("TREE\x01"sv, "the tree of its chunks");
    const int own_level = in.number<std::uint8_t>();
    if (own_level != level.value_or(own_level)) in.fail("the tree of its chunks is damaged");
    const std::uint64_t count = in.number<std::uint16_t>();
    const std::size_t rank = grid_.size();
    const std::uint64_t key_bytes = 8 + 8 * (rank + 1);
    const auto bytes = regions_.read(address + kPrefixBytes, count * (key_bytes + 8), object_);
    RegionCursor rest(regions_, object_, bytes);
    for (std::uint64_t i = 0; i < count; ++i) {
      StoredChunk chunk{{}, 0, rest.number<std::uint32_t>(), rest.number<std::uint32_t>()};
      for (std::size_t j = 0; j < rank; ++j) {
        const auto first = rest.number<std::uint64_t>();
        const std::uint64_t size = dataset_.elements.chunk[j];
        if (first % size != 0) rest.fail("a chunk is not where chunks begin");
        chunk.place.push_back(first / size);
      }
      rest.skip(8);  // within an element
      chunk.address = rest.number<std::uint64_t>();
      if (own_level > 0)
        read_tree(chunk.address, own_level - 1);
      else
        add_next(std::move(chunk));
    }
  }

  void read_tree2(std::uint64_t address) {
    const std::size_t rank = grid_.size();
    for_each_record(regions_, address, object_, [&](RegionCursor record, int kind) {
      constexpr int kFiltered = 11;
      if (kind != kFiltered && kind != kFiltered - 1)
        record.fail("the tree of its chunks is of another kind");
      StoredChunk chunk{{}, record.number<std::uint64_t>(), chunk_bytes_};
      if (kind == kFiltered) {
        const std::size_t others = 4 + 8 * rank;
        const std::size_t size_bytes = record.remaining() - std::min(record.remaining(), others);
        if (size_bytes < 1 || size_bytes > 8) record.fail("the tree of its chunks is damaged");
        chunk.bytes = record.number_of(size_bytes);
        chunk.mask = record.number<std::uint32_t>();
      }
      for (std::size_t j = 0; j < rank; ++j) chunk.place.push_back(record.number<std::uint64_t>());
      add_next(std::move(chunk));
    });
  }

  /// The grid of all possible chunks; the first number is 0 for no limit, and `unlimited` is its
  /// dimension.
  Place largest_grid(std::optional<std::size_t> unlimited) const {
    Place out;
    for (std::size_t i = 0; i < grid_.size(); ++i) {
      const std::optional<std::uint64_t> max = dataset_.max_sizes[i];
      if (i == unlimited) continue;
      if (!max) regions_.fail(object_, "the index of its chunks does not fit its dimensions");
      out.push_back(divide_up(*max, dataset_.elements.chunk[i]));
    }
    if (unlimited) out.insert(out.begin(), 0);
    return out;
  }

  /// The place of chunk `number`, counted with the first dimension of `grid` as the slowest;
  /// nothing if it is outside.
  static std::optional<Place> place_of(std::uint64_t number, const Place& grid) {
    Place out(grid.size());
    for (std::size_t i = grid.size(); i-- > 1;) {
      if (grid[i] == 0) return std::nullopt;
      out[i] = number % grid[i];
      number /= grid[i];
    }
    out[0] = number;
    return out;
  }

  void find_implicit(std::uint64_t address) {
    const Place largest = largest_grid(std::nullopt);
    // Chunks beyond the file would not be read, but must not be counted either.
    const std::uint64_t max = regions_.size() / chunk_bytes_;
    std::uint64_t all = 1;
    for (const std::uint64_t size : largest)
      if (__builtin_mul_overflow(all, size, &all) || all > max)
        regions_.fail(object_, "its chunks reach past the end of the file");
    for (std::uint64_t i = 0; i < all; ++i)
      if (const auto place = place_of(i, largest))
        add({*place, address + i * chunk_bytes_, chunk_bytes_});
  }

  void read_array(const ChunkIndex& index) {
    const bool grows = index.kind == ChunkIndex::Kind::kExtensibleArray;
    std::optional<std::size_t> unlimited;
    if (grows) {
      const auto found = std::ranges::find_if(dataset_.max_sizes,
                                              [](const auto& max) { return !max.has_value(); });
      if (found == dataset_.max_sizes.end())
        regions_.fail(object_, "the index of its chunks does not fit its dimensions");
      unlimited = static_cast<std::size_t>(found - dataset_.max_sizes.begin());
    }
    const Place largest = largest_grid(unlimited);
    const auto take = [&](ArrayElement element) {
      StoredChunk chunk{{}, element.body.number<std::uint64_t>(), chunk_bytes_};
      if (chunk.address == kUndefined) return;
      if (element.is_filtered) {
        chunk.bytes = element.body.number_of(element.body.remaining() - 4);
        chunk.mask = element.body.number<std::uint32_t>();
      }
      std::optional<Place> place = place_of(element.index, largest);
      if (!place) return;
      // The growing dimension is counted as the first.
      if (unlimited)
        std::rotate(place->begin(), place->begin() + 1,
                    place->begin() + static_cast<std::ptrdiff_t>(*unlimited) + 1);
      chunk.place = *std::move(place);
      add(std::move(chunk));
    };
    if (grows)
      read_extensible_array(regions_, index.address, object_, take);
    else
      read_fixed_array(regions_, index.address, object_, take);
  }

  FileRegions& regions_;
  const StoredDataset& dataset_;
  std::uint64_t chunk_bytes_;
  std::string object_;
  Place grid_;
  std::optional<Place> last_;
  std::vector<StoredChunk> chunks_;
};

}  // namespace

std::vector<std::uint64_t> chunk_grid(const StoredDataset& dataset) {
  std::vector<std::uint64_t> out;
  out.reserve(static_cast<std::size_t>(dataset.shape.rank()));
  for (int i = 0; i < dataset.shape.rank(); ++i)
    out.push_back(divide_up(static_cast<std::uint64_t>(dataset.shape[i]),
                            dataset.elements.chunk[static_cast<std::size_t>(i)]));
  return out;
}

std::vector<StoredChunk> find_chunks(FileRegions& regions, const StoredDataset& dataset,
                                     std::uint64_t chunk_bytes, const std::string& object) {
  return ChunkFinder(regions, dataset, chunk_bytes, object).find();
}

}  // namespace lockstep
