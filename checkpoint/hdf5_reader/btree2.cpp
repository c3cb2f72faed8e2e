#include "checkpoint/hdf5_reader/btree2.h"

#include <bit>
#include <string_view>
#include <vector>

#include "checkpoint/hdf5_reader/checksum.h"
#include "checkpoint/hdf5_reader/object_header.h"

namespace lockstep {
namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t kBTreeHeaderBytes = 38;
constexpr std::uint64_t kNodeBytes = 10;  // besides records and pointers
constexpr std::size_t kMaxLevels = 16;    // with two children each, records of any file

/// What a node above leaves says of each child, by level.
struct BTreeLevel {
  std::uint64_t max_records;      // of a node
  std::uint64_t all_records;      // of it and all nodes below
  std::size_t all_records_bytes;  // size of that number; 0 for leaves, which do not have it
  std::uint64_t pointer_bytes;
};

/// Bytes of a number up to `most`.
std::size_t bytes_of(std::uint64_t max) {
  return static_cast<std::size_t>(std::bit_width(max | 1) - 1) / 8 + 1;
}

class Tree {
 public:
  Tree(FileRegions& regions, std::string object, const std::function<void(RegionCursor, int)>& take)
      : regions_(regions), object_(std::move(object)), take_(take) {}

  void read(std::uint64_t address) {
    const auto bytes = read_summed(regions_, address, kBTreeHeaderBytes, object_);
    RegionCursor in(regions_, object_, bytes);
    in.expect("BTHD\0"sv, "the header of a tree");
    kind_ = in.number<std::uint8_t>();
    node_bytes_ = in.number<std::uint32_t>();
    record_bytes_ = in.number<std::uint16_t>();
    const std::size_t depth = in.number<std::uint16_t>();
    in.skip(2);  // when nodes are split and merged
    const auto root = in.number<std::uint64_t>();
    const std::uint64_t records = in.number<std::uint16_t>();
    if (record_bytes_ == 0 || node_bytes_ < kNodeBytes + record_bytes_ || depth > kMaxLevels)
      in.fail("the sizes of a tree are impossible");
    find_levels(depth, in);
    if (root != kUndefined) read_node(root, records, depth);
  }

 private:
  void find_levels(std::size_t depth, const RegionCursor& in) {
    const std::uint64_t max = (node_bytes_ - kNodeBytes) / record_bytes_;
    count_bytes_ = bytes_of(max);
    levels_.push_back({max, max, 0, 0});
    for (std::size_t i = 1; i <= depth; ++i) {
      const BTreeLevel& below = levels_.back();
      const std::uint64_t pointer = 8 + count_bytes_ + below.all_records_bytes;
      if (node_bytes_ < kNodeBytes + pointer) in.fail("the sizes of a tree are impossible");
      const std::uint64_t own = (node_bytes_ - kNodeBytes - pointer) / (record_bytes_ + pointer);
      std::uint64_t all = 0;
      if (__builtin_mul_overflow(own + 1, below.all_records, &all) ||
          __builtin_add_overflow(all, own, &all))
        in.fail("the sizes of a tree are impossible");
      levels_.push_back({own, all, bytes_of(all), pointer});
    }
  }

  void read_node(std::uint64_t address, std::uint64_t records, std::size_t depth) {
    const BTreeLevel& level = levels_.at(depth);
    if (records > level.max_records) regions_.fail(object_, "a node of a tree is too full");
    const std::uint64_t used = kNodeBytes + records * record_bytes_ +
                               (depth == 0 ? 0 : (records + 1) * level.pointer_bytes);
    const auto bytes = read_summed(regions_, address, used, object_);
    RegionCursor in(regions_, object_, bytes);
    in.expect(depth == 0 ? "BTLF\0"sv : "BTIN\0"sv, "a node of a tree");
    if (in.number<std::uint8_t>() != kind_) in.fail("a node of a tree is of another kind");
    RegionCursor own = in.sub(records * record_bytes_);
    for (std::uint64_t i = 0; i <= records; ++i) {
      if (depth > 0) {
        const auto child = in.number<std::uint64_t>();
        const std::uint64_t of_child = in.number_of(count_bytes_);
        in.skip(levels_.at(depth - 1).all_records_bytes);
        read_node(child, of_child, depth - 1);
      }
      if (i < records) take_(own.sub(record_bytes_), kind_);
    }
  }

  FileRegions& regions_;
  std::string object_;
  const std::function<void(RegionCursor, int)>& take_;
  int kind_ = 0;
  std::uint64_t node_bytes_ = 0;
  std::uint64_t record_bytes_ = 0;
  std::size_t count_bytes_ = 0;     // what the number of a child's own records takes
  std::vector<BTreeLevel> levels_;  // from leaves to the root
};

}  // namespace

void for_each_record(FileRegions& regions, std::uint64_t address, const std::string& object,
                     const std::function<void(RegionCursor record, int kind)>& take) {
  Tree(regions, object, take).read(address);
}

}  // namespace lockstep
