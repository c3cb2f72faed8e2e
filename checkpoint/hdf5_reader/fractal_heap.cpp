#include "checkpoint/hdf5_reader/fractal_heap.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "checkpoint/hdf5_reader/checksum.h"
#include "checkpoint/hdf5_reader/object_header.h"

namespace lockstep {
namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t kHeapHeaderBytes = 146;
constexpr std::uint64_t kBlockPrefixBytes = 13;  // besides the block's offset
constexpr int kMaxBits = 48;                     // of a place in a heap

std::size_t log2_of(std::uint64_t number) {
  return static_cast<std::size_t>(std::bit_width(number)) - 1;
}

}  // namespace

FractalHeap::FractalHeap(FileRegions& regions, std::uint64_t address, std::string object)
    : regions_(regions), object_(std::move(object)) {
  const auto bytes = read_summed(regions_, address, kHeapHeaderBytes, object_);
  RegionCursor in(regions_, object_, bytes);
  in.expect("FRHP\0"sv, "the header of a heap");
  id_bytes_ = in.number<std::uint16_t>();
  if (in.number<std::uint16_t>() != 0) in.fail("a heap with filters is not supported");
  has_checksums_ = (in.number<std::uint8_t>() & 2) != 0;
  const std::uint64_t largest_object = in.number<std::uint32_t>();
  in.skip(std::size_t{12} * 8);  // large objects, free space, sums
  width_ = in.number<std::uint16_t>();
  first_bytes_ = in.number<std::uint64_t>();
  const auto largest = in.number<std::uint64_t>();
  const int bits = in.number<std::uint16_t>();
  in.skip(2);  // rows at the beginning
  const auto root = in.number<std::uint64_t>();
  const std::uint64_t rows = in.number<std::uint16_t>();
  if (!std::has_single_bit(width_) || !std::has_single_bit(first_bytes_) ||
      !std::has_single_bit(largest) || largest < first_bytes_ || bits > kMaxBits || bits < 8 ||
      log2_of(largest) > static_cast<std::size_t>(bits) || largest_object == 0)
    in.fail("the sizes of a heap are impossible");
  offset_bytes_ = static_cast<std::size_t>(bits + 7) / 8;
  length_bytes_ = std::min((log2_of(largest) + 7) / 8, (log2_of(largest_object) + 7) / 8);
  length_bytes_ = std::max<std::size_t>(length_bytes_, 1);
  direct_rows_ = log2_of(largest) - log2_of(first_bytes_) + 2;
  if (root == kUndefined) return;
  if (rows == 0)
    read_direct(root, 0, first_bytes_);
  else
    read_indirect(root, 0, rows);
}

std::uint64_t FractalHeap::row_bytes(std::uint64_t row) const {
  const std::uint64_t doublings = row == 0 ? 0 : row - 1;
  if (doublings + log2_of(first_bytes_) + log2_of(width_) >= kMaxBits)
    regions_.fail(object_, "a heap is too large");
  return first_bytes_ << doublings;
}

void FractalHeap::read_direct(std::uint64_t address, std::uint64_t offset, std::uint64_t bytes) {
  std::vector<std::byte> block = regions_.read(address, bytes, object_);
  RegionCursor in(regions_, object_, block);
  in.expect("FHDB\0"sv, "a block of a heap");
  in.skip(8);  // the heap's header
  if (in.number_of(offset_bytes_) != offset) in.fail("a block of a heap belongs to another place");
  if (has_checksums_) {
    // The checksum is in the block's head, and counts as zero in its own calculation.
    const auto stored = in.number<std::uint32_t>();
    const auto at = static_cast<std::ptrdiff_t>(block.size() - in.remaining() - kChecksumBytes);
    std::fill_n(block.begin() + at, kChecksumBytes, std::byte{0});
    if (const std::uint32_t sum = lookup3(block); sum != stored)
      in.fail(fmt::format("the checksum at byte {} is {:08x}, but that of its block is {:08x}",
                          regions_.base() + address + static_cast<std::uint64_t>(at), stored, sum));
  }
  blocks_.emplace(offset, std::move(block));
}

void FractalHeap::read_indirect(std::uint64_t address, std::uint64_t offset, std::uint64_t rows) {
  constexpr std::uint64_t kMaxRows = 64;
  if (rows > kMaxRows) regions_.fail(object_, "a heap is too large");
  const std::uint64_t bytes =
      kBlockPrefixBytes + offset_bytes_ + rows * width_ * 8 + kChecksumBytes;
  const auto block = read_summed(regions_, address, bytes, object_);
  RegionCursor in(regions_, object_, block);
  in.expect("FHIB\0"sv, "a block of a heap");
  in.skip(8);  // the heap's header
  if (in.number_of(offset_bytes_) != offset) in.fail("a block of a heap belongs to another place");
  for (std::uint64_t row = 0; row < rows; ++row) {
    const std::uint64_t size = row_bytes(row);
    for (std::uint64_t i = 0; i < width_; ++i, offset += size) {
      const auto child = in.number<std::uint64_t>();
      if (child == kUndefined) continue;
      if (row < direct_rows_) {
        read_direct(child, offset, size);
      } else {
        const std::size_t smallest = log2_of(first_bytes_) + log2_of(width_);
        if (log2_of(size) < smallest) in.fail("the sizes of a heap are impossible");
        read_indirect(child, offset, log2_of(size) - smallest + 1);
      }
    }
  }
}

std::optional<RegionCursor> FractalHeap::find(RegionCursor id) const {
  constexpr unsigned kWhere = 0x30;  // 0: in a block
  if ((id.number<std::uint8_t>() & kWhere) != 0) return std::nullopt;
  const std::uint64_t offset = id.number_of(offset_bytes_);
  const std::uint64_t bytes = id.number_of(length_bytes_);
  const auto after = blocks_.upper_bound(offset);
  if (after == blocks_.begin()) id.fail("it is not in its heap");
  const auto& [begin, block] = *std::prev(after);
  RegionCursor in(regions_, object_, block);
  if (offset - begin > block.size()) id.fail("it is not in its heap");
  in.skip(offset - begin);
  return in.sub(bytes);
}

}  // namespace lockstep
