// Series that are thinned for a screen keep their peaks.
#include "trainer/report/thin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

TEST(Thinned, KeepsAShortSeriesWhole) {
  EXPECT_EQ(thinned({3, 1, 2}, 4), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_TRUE(thinned({}, 4).empty());
}

TEST(Thinned, KeepsTheExtremesOfEachRange) {
  std::vector<double> values(100'000);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(0.001 * static_cast<double>(i));
  values[31'415] = 90;
  values[27'182] = -90;
  const std::vector<std::size_t> kept = thinned(values, 1600);
  EXPECT_LE(kept.size(), 1600);
  EXPECT_GE(kept.size(), 1000);
  EXPECT_TRUE(std::ranges::is_sorted(kept, std::less_equal()));
  EXPECT_EQ(kept.front(), 0);
  EXPECT_EQ(kept.back(), values.size() - 1);
  EXPECT_TRUE(std::ranges::binary_search(kept, 31'415));
  EXPECT_TRUE(std::ranges::binary_search(kept, 27'182));
}

TEST(Thinned, PassesOverValuesThatAreNotFinite) {
  std::vector<double> values(1000, NAN);
  values[500] = 1;
  const std::vector<std::size_t> kept = thinned(values, 20);
  EXPECT_TRUE(std::ranges::binary_search(kept, 500));
  EXPECT_LE(kept.size(), 20);
}

}  // namespace
}  // namespace lockstep
