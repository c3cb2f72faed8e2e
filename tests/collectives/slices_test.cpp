#include "collectives/slices.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace lockstep {
namespace {

TEST(Slices, CoverTheBufferInOrderAndBeginAtCacheLines) {
  EXPECT_TRUE(rc::check([] {
    const auto count = *rc::gen::inRange<std::int64_t>(0, 100'000);
    const int parts = *rc::gen::inRange(1, 20);
    const auto width = *rc::gen::element<std::size_t>(1, 2, 4, 8);
    std::int64_t end = 0;
    for (int i = 0; i < parts; ++i) {
      const Slice slice = slice_of(count, parts, i, width);
      RC_ASSERT(slice.begin == end);
      RC_ASSERT(slice.begin == count || slice.begin * static_cast<std::int64_t>(width) % 64 == 0);
      end = slice.end;
    }
    RC_ASSERT(end == count);
  }));
}

TEST(Slices, AreEvenWhenCacheLinesAllow) {
  EXPECT_EQ(slice_of(1024, 4, 3, 4).begin, 768);
  EXPECT_EQ(slice_of(1024, 4, 3, 4).size(), 256);
}

}  // namespace
}  // namespace lockstep
