#include "checkpoint/header_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "core/base/hash.h"

namespace lockstep {
namespace {

using namespace std::string_view_literals;

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr std::string_view kMagic = "lockstep ckpt\r\n\x1a"sv;
static_assert(kMagic.size() == 16);
constexpr std::string_view kHdf5Magic = "\x89HDF\r\n\x1a\n"sv;

constexpr std::size_t kVersionAt = 16;
constexpr std::size_t kBlockBytesAt = 20;
constexpr std::size_t kFileBytesAt = 24;
constexpr std::size_t kDigestAt = 32;
constexpr std::size_t kChecksumAt = 64;
constexpr std::size_t kPaddingAt = 96;

std::array<std::uint8_t, 32> checksum_of(std::span<const std::byte> block) {
  Sha256 sha;
  sha.update(block.data(), kChecksumAt);
  return sha.finish();
}

bool begins_with(std::span<const std::byte> bytes, std::string_view prefix) {
  return bytes.size() >= prefix.size() &&
         std::memcmp(bytes.data(), prefix.data(), prefix.size()) == 0;
}

// The problem of the block, in the order in which a reader can detect problems.
std::string problem_of(std::span<const std::byte> block) {
  if (block.empty()) return "the file is empty";
  if (begins_with(block, kHdf5Magic)) {
    return "an HDF5 file, but not a lockstep checkpoint: it has no lockstep header";
  }
  if (!begins_with(block, kMagic.substr(0, std::min(block.size(), kMagic.size())))) {
    return "not a lockstep checkpoint: the file does not begin with the lockstep magic bytes";
  }
  if (block.size() < kHeaderBytes) {
    return fmt::format("truncated: {} bytes are less than the header's {}", block.size(),
                       kHeaderBytes);
  }
  if (std::memcmp(block.data() + kChecksumAt, checksum_of(block).data(), 32) != 0) {
    return "the header is damaged: its checksum does not match";
  }
  std::uint32_t version = 0;
  std::memcpy(&version, block.data() + kVersionAt, sizeof version);
  if (version != kFormatVersion) {
    return fmt::format("the file has format version {}; this lockstep reads version {}", version,
                       kFormatVersion);
  }
  const auto padding = block.subspan(kPaddingAt);
  const auto stray =
      std::find_if(padding.begin(), padding.end(), [](std::byte b) { return b != std::byte{0}; });
  if (stray != padding.end()) {
    return fmt::format("the header is damaged: byte {} of its padding is not zero",
                       kPaddingAt + static_cast<std::size_t>(stray - padding.begin()));
  }
  return "";
}

}  // namespace

std::array<std::byte, kHeaderBytes> encode_header(const HeaderBlock& header) {
  std::array<std::byte, kHeaderBytes> block{};
  const auto block_bytes = static_cast<std::uint32_t>(kHeaderBytes);
  std::memcpy(block.data(), kMagic.data(), kMagic.size());
  std::memcpy(block.data() + kVersionAt, &header.version, sizeof header.version);
  std::memcpy(block.data() + kBlockBytesAt, &block_bytes, sizeof block_bytes);
  std::memcpy(block.data() + kFileBytesAt, &header.file_bytes, sizeof header.file_bytes);
  std::memcpy(block.data() + kDigestAt, header.digest.data(), header.digest.size());
  const auto checksum = checksum_of(block);
  std::memcpy(block.data() + kChecksumAt, checksum.data(), checksum.size());
  return block;
}

DecodedHeader decode_header(std::span<const std::byte> start) {
  DecodedHeader out;
  out.problem = problem_of(start);
  if (!out.problem.empty()) return out;
  std::memcpy(&out.header.version, start.data() + kVersionAt, sizeof out.header.version);
  std::memcpy(&out.header.file_bytes, start.data() + kFileBytesAt, sizeof out.header.file_bytes);
  std::memcpy(out.header.digest.data(), start.data() + kDigestAt, out.header.digest.size());
  return out;
}

}  // namespace lockstep
