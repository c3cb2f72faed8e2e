#include "core/base/duration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lockstep {
namespace {

TEST(Duration, PrintsWholeSeconds) {
  EXPECT_EQ(format_time(0.9), "0s");
  EXPECT_EQ(format_time(59.99), "59s");
  EXPECT_EQ(format_time(211), "3m 31s");
  EXPECT_EQ(format_time(3605), "1h 0m 5s");
  EXPECT_EQ(format_time(86400 * 2 + 3 * 3600), "2d 3h 0m 0s");
  EXPECT_EQ(format_time(-1), "0s");
  EXPECT_EQ(format_time(std::numeric_limits<double>::infinity()), format_time(1e9));
}

TEST(Duration, PrintsAsPeopleReadIt) {
  EXPECT_EQ(readable_time(350e-9), "350 ns");
  EXPECT_EQ(readable_time(6.44e-3), "6.4 ms");
  EXPECT_EQ(readable_time(22.3e-3), "22 ms");
  EXPECT_EQ(readable_time(3e-3), "3 ms");
  EXPECT_EQ(readable_time(630.261e-6), "630 us");
  EXPECT_EQ(readable_time(1.31), "1.3 s");
  EXPECT_EQ(readable_time(59.4), "59 s");
  EXPECT_EQ(readable_time(211), "3m 31s");
  EXPECT_EQ(readable_ns(22e6), "22 ms");
}

TEST(Duration, RoundsIntoTheNextUnit) {
  EXPECT_EQ(readable_time(9.96e-3), "10 ms");
  EXPECT_EQ(readable_time(999.4e-6), "999 us");
  EXPECT_EQ(readable_time(999.6e-6), "1 ms");
  EXPECT_EQ(readable_time(0.9996), "1 s");
  EXPECT_EQ(readable_time(59.6), "1m 0s");
}

TEST(Duration, IsNothingWhereThereIsNone) {
  EXPECT_EQ(readable_time(0), "0 s");
  EXPECT_EQ(readable_time(-1), "0 s");
  EXPECT_EQ(readable_time(std::nan("")), "0 s");
}

}  // namespace
}  // namespace lockstep
