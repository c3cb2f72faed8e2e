#include "checkpoint/hdf5_reader/chunk_arrays.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/hdf5_reader/checksum.h"
#include "checkpoint/hdf5_reader/object_header.h"

namespace lockstep {
namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 48;
constexpr unsigned kMaxPageBits = 32;
constexpr std::size_t kAddressBytes = 8;

/// The common part of both kinds: elements in blocks, which may have pages with a checksum each.
class ArrayReader {
 public:
  ArrayReader(FileRegions& regions, std::string object, const TakeElement& take)
      : regions_(regions), object_(std::move(object)), take_(take) {}

 protected:
  void read_kind(RegionCursor& in) {
    const int filtered = in.number<std::uint8_t>();
    element_bytes_ = in.number<std::uint8_t>();
    constexpr std::size_t kFiltered = kAddressBytes + 1 + 4;  // at least
    if (filtered > 1 || element_bytes_ < (filtered == 1 ? kFiltered : kAddressBytes) ||
        element_bytes_ > kFiltered + 7)
      in.fail("its array of chunks has impossible elements");
    is_filtered_ = filtered == 1;
  }

  void take_elements(RegionCursor in, std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i)
      take_({first + i, in.sub(element_bytes_), is_filtered_});
  }

  /// `count` elements in pages after a block's head; `is_written(i)` tells whether page i exists.
  template <class IsWritten>
  void read_pages(std::uint64_t address, std::uint64_t first, std::uint64_t count,
                  const IsWritten& is_written) {
    const std::uint64_t page_bytes = page_ * element_bytes_ + kChecksumBytes;
    for (std::uint64_t i = 0, done = 0; done < count; ++i, done += page_) {
      if (!is_written(i)) continue;
      const std::uint64_t here = std::min(page_, count - done);
      const auto page = read_summed(regions_, address + i * page_bytes,
                                    here * element_bytes_ + kChecksumBytes, object_);
      take_elements({regions_, object_, page}, first + done, here);
    }
  }

  static bool bit(std::span<const std::byte> bits, std::uint64_t i) {
    return (std::to_integer<unsigned>(bits[i / 8]) & (0x80U >> i % 8)) != 0;
  }

  FileRegions& regions_;
  std::string object_;
  const TakeElement& take_;
  std::size_t element_bytes_ = 0;
  bool is_filtered_ = false;
  std::uint64_t page_ = 0;  // elements of a page
};

class FixedArray : ArrayReader {
 public:
  using ArrayReader::ArrayReader;

  void read(std::uint64_t address) {
    constexpr std::uint64_t kHeaderBytes = 28;
    const auto bytes = read_summed(regions_, address, kHeaderBytes, object_);
    RegionCursor in(regions_, object_, bytes);
    in.expect("FAHD\0"sv, "the array of its chunks");
    read_kind(in);
    const unsigned page_bits = in.number<std::uint8_t>();
    const auto count = in.number<std::uint64_t>();
    const auto block = in.number<std::uint64_t>();
    if (page_bits > kMaxPageBits || count > kMaxElements)
      in.fail("its array of chunks has an impossible size");
    page_ = std::uint64_t{1} << page_bits;
    if (block != kUndefined) read_block(block, count);
  }

 private:
  void read_block(std::uint64_t address, std::uint64_t count) {
    constexpr std::uint64_t kPrefixBytes = 14;
    const bool has_pages = count > page_;
    const std::uint64_t bitmap = has_pages ? ((count + page_ - 1) / page_ + 7) / 8 : 0;
    const std::uint64_t own =
        kPrefixBytes + bitmap + (has_pages ? 0 : count * element_bytes_) + kChecksumBytes;
    const auto bytes = read_summed(regions_, address, own, object_);
    RegionCursor in(regions_, object_, bytes);
    in.expect("FADB\0"sv, "a block of the array of its chunks");
    in.skip(1 + 8);  // its kind, the header
    if (!has_pages) return take_elements(in, 0, count);
    const auto written = in.take(bitmap);
    read_pages(address + own, 0, count, [&](std::uint64_t i) { return bit(written, i); });
  }
};

/// Blocks of elements double in size; "super blocks" are runs of blocks of one size. The first
/// blocks stand in the index block, those of other super blocks in secondary blocks.
class ExtensibleArray : ArrayReader {
 public:
  using ArrayReader::ArrayReader;

  void read(std::uint64_t address) {
    constexpr std::uint64_t kHeaderBytes = 72;
    const auto bytes = read_summed(regions_, address, kHeaderBytes, object_);
    RegionCursor in(regions_, object_, bytes);
    in.expect("EAHD\0"sv, "the array of its chunks");
    read_kind(in);
    const unsigned max_bits = in.number<std::uint8_t>();
    const std::uint64_t in_index = in.number<std::uint8_t>();
    smallest_ = in.number<std::uint8_t>();
    const std::uint64_t pointers = in.number<std::uint8_t>();
    const unsigned page_bits = in.number<std::uint8_t>();
    in.skip(std::size_t{6} * 8);  // numbers and sums
    const auto index = in.number<std::uint64_t>();
    if (max_bits > 48 || !std::has_single_bit(smallest_) || !std::has_single_bit(pointers) ||
        page_bits > kMaxPageBits || max_bits < log2_of(smallest_))
      in.fail("its array of chunks has an impossible size");
    page_ = std::uint64_t{1} << page_bits;
    offset_bytes_ = (max_bits + 7) / 8;
    super_blocks_ = 1 + max_bits - log2_of(smallest_);
    // Blocks of super blocks below this one stand in the index block.
    const std::uint64_t direct = std::uint64_t{2} * log2_of(pointers);
    if (direct > super_blocks_) in.fail("its array of chunks has an impossible size");
    if (index != kUndefined) read_index(index, in_index, 2 * (pointers - 1), direct);
  }

 private:
  static unsigned log2_of(std::uint64_t number) {
    return static_cast<unsigned>(std::bit_width(number)) - 1;
  }
  static std::uint64_t blocks_of(std::uint64_t super) { return std::uint64_t{1} << super / 2; }
  std::uint64_t elements_of(std::uint64_t super) const { return smallest_ << (super + 1) / 2; }

  void read_index(std::uint64_t address, std::uint64_t elements, std::uint64_t blocks,
                  std::uint64_t direct) {
    constexpr std::uint64_t kPrefixBytes = 14;
    const std::uint64_t pointers = blocks + super_blocks_ - direct;
    const auto bytes = read_summed(
        regions_, address,
        kPrefixBytes + elements * element_bytes_ + pointers * kAddressBytes + kChecksumBytes,
        object_);
    RegionCursor in(regions_, object_, bytes);
    in.expect("EAIB\0"sv, "the index of its chunks");
    in.skip(1 + 8);  // its kind, the header
    take_elements(in.sub(elements * element_bytes_), 0, elements);
    std::uint64_t first = elements;
    for (std::uint64_t super = 0; super < super_blocks_; ++super) {
      if (super < direct) {
        for (std::uint64_t i = 0; i < blocks_of(super); ++i, first += elements_of(super)) {
          const auto block = in.number<std::uint64_t>();
          if (block != kUndefined) read_block(block, super, first, {}, 0);
        }
      } else {
        const auto secondary = in.number<std::uint64_t>();
        if (secondary != kUndefined) read_secondary(secondary, super, first);
        first += blocks_of(super) * elements_of(super);
      }
    }
  }

  std::uint64_t pages_of(std::uint64_t super) const {
    return elements_of(super) > page_ ? elements_of(super) / page_ : 0;
  }

  void read_secondary(std::uint64_t address, std::uint64_t super, std::uint64_t first) {
    const std::uint64_t prefix = 14 + offset_bytes_;
    const std::uint64_t bitmap = blocks_of(super) * ((pages_of(super) + 7) / 8);
    const std::uint64_t own = prefix + bitmap + blocks_of(super) * kAddressBytes + kChecksumBytes;
    const auto bytes = read_summed(regions_, address, own, object_);
    RegionCursor in(regions_, object_, bytes);
    in.expect("EASB\0"sv, "a part of the index of its chunks");
    in.skip(1 + 8 + offset_bytes_);  // its kind, the header, its place
    const auto written = in.take(bitmap);
    for (std::uint64_t i = 0; i < blocks_of(super); ++i, first += elements_of(super)) {
      const auto block = in.number<std::uint64_t>();
      if (block != kUndefined) read_block(block, super, first, written, i * pages_of(super));
    }
  }

  /// `written` has a bit for each page; those of this block begin at `page`.
  void read_block(std::uint64_t address, std::uint64_t super, std::uint64_t first,
                  std::span<const std::byte> written, std::uint64_t page) {
    const std::uint64_t pages = pages_of(super);
    const std::uint64_t count = elements_of(super);
    if (pages > 0 && written.size() * 8 < page + pages)
      regions_.fail(object_, "its array of chunks has an impossible size");
    const std::uint64_t own =
        14 + offset_bytes_ + (pages > 0 ? 0 : count * element_bytes_) + kChecksumBytes;
    const auto bytes = read_summed(regions_, address, own, object_);
    RegionCursor in(regions_, object_, bytes);
    in.expect("EADB\0"sv, "a block of the array of its chunks");
    in.skip(1 + 8 + offset_bytes_);  // its kind, the header, its place
    if (pages == 0) return take_elements(in, first, count);
    read_pages(address + own, first, count,
               [&](std::uint64_t i) { return bit(written, page + i); });
  }

  std::uint64_t smallest_ = 0;      // elements of the first block
  std::uint64_t offset_bytes_ = 0;  // size of an element's number
  std::uint64_t super_blocks_ = 0;
};

}  // namespace

void read_fixed_array(FileRegions& regions, std::uint64_t address, const std::string& object,
                      const TakeElement& take) {
  FixedArray(regions, object, take).read(address);
}

void read_extensible_array(FileRegions& regions, std::uint64_t address, const std::string& object,
                           const TakeElement& take) {
  ExtensibleArray(regions, object, take).read(address);
}

}  // namespace lockstep
