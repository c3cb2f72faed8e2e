#include "checkpoint/hdf5_reader/checksum.h"

#include <array>
#include <bit>
#include <cstring>

namespace lockstep {
namespace {

struct State {
  std::uint32_t a, b, c;

  void mix() {
    a -= c, a ^= std::rotl(c, 4), c += b;
    b -= a, b ^= std::rotl(a, 6), a += c;
    c -= b, c ^= std::rotl(b, 8), b += a;
    a -= c, a ^= std::rotl(c, 16), c += b;
    b -= a, b ^= std::rotl(a, 19), a += c;
    c -= b, c ^= std::rotl(b, 4), b += a;
  }

  void finish() {
    c ^= b, c -= std::rotl(b, 14);
    a ^= c, a -= std::rotl(c, 11);
    b ^= a, b -= std::rotl(a, 25);
    c ^= b, c -= std::rotl(b, 16);
    a ^= c, a -= std::rotl(c, 4);
    b ^= a, b -= std::rotl(a, 14);
    c ^= b, c -= std::rotl(b, 24);
  }
};

constexpr std::size_t kBlock = 12;
constexpr std::uint32_t kStart = 0xdeadbeef;

}  // namespace

std::uint32_t lookup3(std::span<const std::byte> bytes) {
  const std::uint32_t start = kStart + static_cast<std::uint32_t>(bytes.size());
  State state{start, start, start};
  if (bytes.empty()) return state.c;
  const auto add = [&](std::span<const std::byte> block) {
    std::array<std::uint32_t, 3> words{};
    std::memcpy(words.data(), block.data(), block.size());
    state.a += words[0], state.b += words[1], state.c += words[2];
  };
  for (; bytes.size() > kBlock; bytes = bytes.subspan(kBlock)) {
    add(bytes.first(kBlock));
    state.mix();
  }
  add(bytes);
  state.finish();
  return state.c;
}

void verify_checksum(const FileRegions& regions, std::uint64_t address,
                     std::span<const std::byte> bytes, const std::string& object) {
  const auto covered = bytes.first(bytes.size() - kChecksumBytes);
  std::uint32_t stored = 0;
  std::memcpy(&stored, bytes.last(kChecksumBytes).data(), kChecksumBytes);
  if (const std::uint32_t sum = lookup3(covered); sum != stored)
    regions.fail(
        object,
        fmt::format("the checksum at byte {} is {:08x}, but that of the {} bytes before "
                    "it is {:08x}",
                    regions.base() + address + covered.size(), stored, covered.size(), sum));
}

std::vector<std::byte> read_summed(FileRegions& regions, std::uint64_t address, std::uint64_t bytes,
                                   const std::string& object) {
  if (bytes < kChecksumBytes) regions.fail(object, "a part of it is too short");
  std::vector<std::byte> out = regions.read(address, bytes, object);
  verify_checksum(regions, address, out, object);
  return out;
}

}  // namespace lockstep
