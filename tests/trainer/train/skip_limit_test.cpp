#include "trainer/train/skip_limit.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(SkipLimit, IsReachedBySoManyInARow) {
  SkipLimit limit(3);
  EXPECT_EQ(limit.add(true), "");
  EXPECT_EQ(limit.add(true), "");
  EXPECT_EQ(limit.add(false), "");
  EXPECT_EQ(limit.add(true), "");
  EXPECT_EQ(limit.add(true), "");
  EXPECT_EQ(limit.add(true), "3 steps in a row were skipped");
}

TEST(SkipLimit, IsReachedByHalfOfTheLastHundred) {
  SkipLimit limit(10);
  for (int i = 0; i < 98; ++i) EXPECT_EQ(limit.add(i % 2 == 0), "") << i;
  EXPECT_EQ(limit.add(true), "50 of the last 100 steps were skipped");
}

TEST(SkipLimit, ForgetsWhatIsLongAgo) {
  SkipLimit limit(50);
  for (int i = 0; i < 49; ++i) EXPECT_EQ(limit.add(true), "") << i;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(limit.add(false), "") << i;
  for (int i = 0; i < 49; ++i) EXPECT_EQ(limit.add(true), "") << i;
}

TEST(SkipLimit, OfZeroIsNone) {
  SkipLimit limit(0);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(limit.add(true), "") << i;
}

}  // namespace
}  // namespace lockstep
