#include "checkpoint/hdf5_reader/chunk_filters.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

namespace lockstep {
namespace {

constexpr std::size_t kFletcherBytes = 4;

/// At most `most` bytes; one more if there are more. Memory is bounded by a multiple of the stored
/// size, whatever size is claimed.
std::vector<std::byte> inflate_chunk(const std::vector<std::byte>& stored, std::uint64_t max_bytes,
                                     const FileRegions& regions, const std::string& object) {
  constexpr std::uint64_t kMaxRatio = 1032;  // of deflate
  constexpr std::uint64_t kMinBytes = 64;
  std::vector<std::byte> out(std::min(max_bytes, kMaxRatio * stored.size() + kMinBytes) + 1);
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
  // zlib's interface takes a non-const pointer to bytes that it only reads.
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(stored.data()));
  stream.avail_in = static_cast<uInt>(stored.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = inflate(&stream, Z_FINISH);
  const std::size_t got = out.size() - stream.avail_out;
  inflateEnd(&stream);
  if (status != Z_STREAM_END && got <= max_bytes)
    regions.fail(object, "the gzip data of a chunk is damaged");
  out.resize(got);
  return out;
}

std::vector<std::byte> unshuffle(const std::vector<std::byte>& bytes, std::size_t element) {
  if (element <= 1) return bytes;
  std::vector<std::byte> out(bytes);  // bytes after the last element stay
  const std::size_t count = bytes.size() / element;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < element; ++j) out[i * element + j] = bytes[j * count + i];
  return out;
}

/// Fletcher's checksum of 16-bit words, the first byte of each the higher one.
std::uint32_t fletcher32(std::span<const std::byte> bytes) {
  constexpr std::size_t kWordsAtOnce = 360;  // their sums do not overflow
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  const auto fold = [](std::uint32_t sum) { return (sum & 0xffff) + (sum >> 16); };
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.size(), at + 2 * kWordsAtOnce);
    for (; at < end; at += 2) {
      const std::uint32_t second =
          at + 1 < bytes.size() ? std::to_integer<std::uint32_t>(bytes[at + 1]) : 0;
      low += std::to_integer<std::uint32_t>(bytes[at]) << 8 | second;
      high += low;
    }
    low = fold(low);
    high = fold(high);
  }
  return fold(high) << 16 | fold(low);
}

void check_fletcher(std::vector<std::byte>& bytes, const FileRegions& regions,
                    const std::string& object) {
  if (bytes.size() < kFletcherBytes) regions.fail(object, "a chunk has no checksum");
  std::uint32_t stored = 0;
  std::memcpy(&stored, bytes.data() + bytes.size() - kFletcherBytes, kFletcherBytes);
  bytes.resize(bytes.size() - kFletcherBytes);
  if (fletcher32(bytes) != stored) regions.fail(object, "the checksum of a chunk is wrong");
}

}  // namespace

std::vector<std::byte> undo_filters(std::vector<std::byte> stored,
                                    const std::vector<StoredFilter>& filters, std::uint32_t mask,
                                    std::uint64_t bytes, const FileRegions& regions,
                                    const std::string& object) {
  for (std::size_t i = filters.size(); i-- > 0;) {
    if (i < 32 && (mask >> i & 1) != 0) continue;
    switch (filters[i].id) {
      // Checksums of earlier filters may follow the elements.
      case StoredFilter::kGzip:
        stored = inflate_chunk(stored, bytes + kFletcherBytes * i, regions, object);
        break;
      case StoredFilter::kShuffle: stored = unshuffle(stored, filters[i].element_bytes); break;
      case StoredFilter::kFletcher32: check_fletcher(stored, regions, object); break;
      default: LS_CHECK(false, "filter {}", filters[i].id);
    }
  }
  if (stored.size() != bytes)
    regions.fail(object, fmt::format("a chunk has {} bytes, not {}", stored.size(), bytes));
  return stored;
}

}  // namespace lockstep
