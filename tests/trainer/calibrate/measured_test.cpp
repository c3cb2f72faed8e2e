#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "tests/fixtures/sanitizers.h"
#include "tests/fixtures/tested_target.h"
#include "tests/ranks/on_ranks.h"
#include "trainer/calibrate/all_reduce.h"
#include "trainer/calibrate/bandwidth.h"
#include "trainer/calibrate/linear_dots.h"
#include "trainer/calibrate/small_costs.h"

namespace lockstep {
namespace {

constexpr double kBriefly = 0.01;

/// Whether `compared` held at one of 10 measurements: other work on the machine slows down either
/// side of a comparison, a wrong measurement is wrong every time.
template <class Compared>
testing::AssertionResult when_measured_again(const Compared& compared) {
  testing::AssertionResult result = compared();
  for (int i = 1; i < 10 && !result; ++i) result = compared();
  return result;
}

testing::AssertionResult is_between(double value, double low, double high) {
  if (low < value && value < high) return testing::AssertionSuccess();
  return testing::AssertionFailure() << value << " is not between " << low << " and " << high;
}

/// What bench/dots times, and nothing else of this test's: one product again and again.
double plain_flops_per_s(const DotRate& row) {
  using Clock = std::chrono::steady_clock;
  SingleKernel kernel = linear_dot(LinearDot::kForward, row.dtype, row.m, row.k, row.n,
                                   tested_target(), row.cores.threads);
  kernel.run();
  double least = 1;
  for (int i = 0; i < 20; ++i) {
    const auto begin = Clock::now();
    kernel.run();
    least = std::min(least, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return row.flops() / least;
}

TEST(Calibrate, DotsAreAsFastAsTheyAreByThemselves) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    EXPECT_TRUE(when_measured_again([&] {
      DotRate row{"", dtype, 128, 256, 256, {1, 1}};
      measure_dot(row, tested_target(), kBriefly);
      const double plain = plain_flops_per_s(row);
      return is_between(row.flops_per_s, plain / 4, plain * 10);  // the best product of the three
    })) << name_of(dtype);
  }
}

TEST(Calibrate, DotsOfSeveralRanksAndThreadsAreMeasured) {
  for (const BusyCores cores : {BusyCores{1, 2}, {2, 1}}) {
    DotRate row{"", DType::kF32, 64, 64, 64, cores};
    measure_dot(row, tested_target(), kBriefly);
    EXPECT_GT(row.flops_per_s, 1e7);
    EXPECT_LT(row.flops_per_s, 1e14);
  }
}

TEST(Calibrate, ASmallSetIsFasterThanMemoryAndAllIsAboveZero) {
  const auto rate = [](std::int64_t bytes) {
    return measure_bandwidth(tested_target(), 1, bytes, kBriefly);
  };
  const MemoryRate beyond = rate(64 << 20);
  EXPECT_GT(beyond.copy_bytes_per_s, 1e8);
  EXPECT_GT(beyond.triad_bytes_per_s, 1e8);
  if (kSanitized)
    GTEST_SKIP() << "each element of a triad is checked, so that no cache makes it faster";
  EXPECT_TRUE(when_measured_again([&] {
    const MemoryRate cached = rate(16 << 10);
    const MemoryRate memory = rate(64 << 20);
    if (cached.copy_bytes_per_s > memory.copy_bytes_per_s &&
        cached.triad_bytes_per_s > memory.triad_bytes_per_s) {
      return testing::AssertionSuccess();
    }
    return testing::AssertionFailure()
           << "copy " << cached.copy_bytes_per_s << ", from memory " << memory.copy_bytes_per_s
           << ", triad " << cached.triad_bytes_per_s << ", from memory "
           << memory.triad_bytes_per_s;
  }));
}

TEST(Calibrate, ACopyIsAsFastAsMemcpy) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t kBytes = 8 << 20;
  std::vector<std::byte> from(kBytes, std::byte{1});
  std::vector<std::byte> to(kBytes);
  EXPECT_TRUE(when_measured_again([&] {
    double least = 1;
    for (int i = 0; i < 20; ++i) {
      const auto begin = Clock::now();
      std::memcpy(to.data(), from.data(), kBytes);
      least = std::min(least, std::chrono::duration<double>(Clock::now() - begin).count());
    }
    const MemoryRate rate = measure_bandwidth(tested_target(), 1, 2 * kBytes, kBriefly);
    return is_between(rate.copy_bytes_per_s, 2 * kBytes / least / 4, 2 * kBytes / least * 4);
  }));
}

TEST(Calibrate, SmallThingsCostSomethingAndNotMuch) {
  EXPECT_TRUE(when_measured_again([] {
    const SmallCosts costs = measure_small_costs(tested_target(), kBriefly);
    for (const double ns : {costs.bundle_ns, costs.clock_ns, costs.event_ns}) {
      if (const auto result = is_between(ns, 1, 1e5); !result) return result;
    }
    return is_between(costs.event_ns, costs.clock_ns, 1e5) << "; an event looks at the clock twice";
  }));
}

TEST(Calibrate, SumsOverRanksTakeTheSameTimeOnAllOfThem) {
  const auto communicators = make_in_process_communicators(2);
  std::vector<std::vector<AllReduceTime>> times(2);
  on_ranks(communicators, [&](Communicator& communicator) {
    times[static_cast<std::size_t>(communicator.rank())] = measure_all_reduce(communicator, true);
  });
  ASSERT_EQ(times[0].size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(times[0][i].seconds, times[1][i].seconds);
    EXPECT_EQ(times[0][i].ranks, 2);
    EXPECT_GT(times[0][i].seconds, 0);
    EXPECT_GE(times[0][i].spread, 1);
  }
  EXPECT_GT(times[0][3].seconds, times[0][0].seconds) << "25 MiB take longer than 4 KiB";
}

}  // namespace
}  // namespace lockstep
