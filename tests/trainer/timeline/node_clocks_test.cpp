// The clocks of hosts on one timeline.
#include "trainer/timeline/node_clocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/ranks/in_process.h"

namespace lockstep {
namespace {

/// The machine's clock as another host may show it.
class ShiftedClock final : public Clock {
 public:
  explicit ShiftedClock(std::int64_t shift_ns) : shift_ns_(shift_ns) {}
  std::int64_t now_ns() const override { return clock_.now_ns() + shift_ns_; }

 private:
  SteadyClock clock_;
  std::int64_t shift_ns_;
};

TEST(NodeClocks, AreBoundedFromBothSidesByTheQuickestRounds) {
  // The rank's clock shows 1000 more. In the first round zero waits long, in the second the rank.
  const std::vector<ExchangeTimes> zero = {{0, 500}, {1000, 1030}};
  const std::vector<ExchangeTimes> rank = {{1480, 1520}, {2010, 2900}};
  const ClockOffset offset = bound_offset(rank, zero);
  // From 2010 - 1030 = 980 to 1520 - 0 = 1520.
  EXPECT_EQ(offset.offset_ns, 1250);
  EXPECT_EQ(offset.uncertainty_ns, 270);
  EXPECT_LE(std::abs(offset.offset_ns - 1000), offset.uncertainty_ns);
  EXPECT_EQ(offset.at_ns, 2900);
}

TEST(NodeClocks, AreFoundByAllRanksWithinTheUncertaintyThatIsTold) {
  constexpr std::int64_t kShift = 86'400'000'000'123;
  const std::vector<int> nodes = {0, 1, 0, 1};
  const auto ranks = make_in_process_communicators(4, {.node_ids = nodes});
  std::vector<ClockOffset> offsets(4);
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < 4; ++r)
    threads.emplace_back([&, r] {
      const ShiftedClock clock(nodes[r] == 0 ? 0 : kShift);
      offsets[r] = compare_clocks(*ranks[r], clock);
      ranks[r]->finish();
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::size_t r : {0U, 2U}) {
    EXPECT_EQ(offsets[r].offset_ns, 0);
    EXPECT_EQ(offsets[r].uncertainty_ns, 0);
  }
  for (const std::size_t r : {1U, 3U}) {
    EXPECT_LE(std::abs(offsets[r].offset_ns - kShift), offsets[r].uncertainty_ns);
    EXPECT_LT(offsets[r].uncertainty_ns, 100'000'000);
  }
  EXPECT_EQ(offsets[1].offset_ns, offsets[3].offset_ns);
  EXPECT_EQ(offsets[1].at_ns, offsets[3].at_ns);
}

TEST(NodeClocks, DriftLinearlyBetweenTwoComparisons) {
  const NodeClock clock({.at_ns = 1000, .offset_ns = 100, .uncertainty_ns = 7},
                        {.at_ns = 2000, .offset_ns = 120, .uncertainty_ns = 5});
  EXPECT_EQ(clock.on_timeline(1000), 900);
  EXPECT_EQ(clock.on_timeline(1500), 1390);
  EXPECT_EQ(clock.on_timeline(2000), 1880);
  EXPECT_EQ(clock.on_timeline(3000), 2860);
  EXPECT_EQ(clock.uncertainty_ns(), 7);
  EXPECT_EQ(NodeClock().on_timeline(1234), 1234);
}

}  // namespace
}  // namespace lockstep
