#include "core/base/stream_copy.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace lockstep {
namespace {

TEST(StreamCopy, IsThatOfAllBytesAndOfNoOthersWhereverTheyLie) {
  std::vector<std::byte> from(1000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + i / 256);
  constexpr std::byte kOther{0xA5};
  for (const std::size_t bytes : {0, 1, 15, 63, 64, 65, 127, 128, 500, 700})
    for (std::size_t begin = 0; begin < 70; begin += 3)
      for (const std::size_t first : {0, 1, 16, 33}) {
        std::vector<std::byte> to(1000, kOther);
        stream_copy(to.data() + begin, from.data() + first, bytes);
        for (std::size_t i = 0; i < to.size(); ++i) {
          const bool copied = i >= begin && i < begin + bytes;
          ASSERT_EQ(to[i], copied ? from[first + i - begin] : kOther) << bytes << " " << begin;
        }
      }
}

TEST(StreamFill, RepeatsAnElementWhereverItBegins) {
  constexpr std::byte kOther{0xA5};
  constexpr std::uint64_t kPattern = 0x1234'5678'1234'5678;
  for (const std::size_t bytes : {0, 4, 60, 64, 68, 128, 500, 700})
    for (std::size_t begin = 0; begin < 70; begin += 4) {
      alignas(64) std::array<std::byte, 1000> to;
      to.fill(kOther);
      stream_fill(to.data() + begin, kPattern, bytes);
      for (std::size_t i = 0; i < to.size(); ++i) {
        const bool filled = i >= begin && i < begin + bytes;
        const auto byte = static_cast<std::byte>(kPattern >> (8 * (i % 4)) & 0xFF);
        ASSERT_EQ(to[i], filled ? byte : kOther) << bytes << " " << begin;
      }
    }
}

}  // namespace
}  // namespace lockstep
