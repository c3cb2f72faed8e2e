#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "tests/fixtures/tested_target.h"
#include "tests/ranks/on_ranks.h"
#include "trainer/calibrate/all_reduce.h"
#include "trainer/calibrate/bandwidth.h"
#include "trainer/calibrate/linear_dots.h"
#include "trainer/calibrate/small_costs.h"

namespace lockstep {
namespace {

constexpr double kBriefly = 0.01;

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
    DotRate row{"", dtype, 128, 256, 256, {1, 1}};
    measure_dot(row, tested_target(), kBriefly);
    const double plain = plain_flops_per_s(row);
    EXPECT_GT(row.flops_per_s, plain / 4) << name_of(dtype);
    EXPECT_LT(row.flops_per_s, plain * 10) << name_of(dtype);  // the best product, undisturbed
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
  const MemoryRate cached = rate(16 << 10);
  const MemoryRate beyond = rate(64 << 20);
  EXPECT_GT(beyond.copy_bytes_per_s, 1e8);
  EXPECT_GT(beyond.triad_bytes_per_s, 1e8);
  EXPECT_GT(cached.copy_bytes_per_s, beyond.copy_bytes_per_s);
  EXPECT_GT(cached.triad_bytes_per_s, beyond.triad_bytes_per_s);
}

TEST(Calibrate, ACopyIsAsFastAsMemcpy) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t kBytes = 8 << 20;
  std::vector<std::byte> from(kBytes, std::byte{1});
  std::vector<std::byte> to(kBytes);
  double least = 1;
  for (int i = 0; i < 20; ++i) {
    const auto begin = Clock::now();
    std::memcpy(to.data(), from.data(), kBytes);
    least = std::min(least, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  const MemoryRate rate = measure_bandwidth(tested_target(), 1, 2 * kBytes, kBriefly);
  EXPECT_GT(rate.copy_bytes_per_s, 2 * kBytes / least / 4);
  EXPECT_LT(rate.copy_bytes_per_s, 2 * kBytes / least * 4);
}

TEST(Calibrate, SmallThingsCostSomethingAndNotMuch) {
  const SmallCosts costs = measure_small_costs(tested_target(), kBriefly);
  for (const double ns : {costs.bundle_ns, costs.clock_ns, costs.event_ns}) {
    EXPECT_GT(ns, 1);
    EXPECT_LT(ns, 1e5);
  }
  EXPECT_GT(costs.event_ns, costs.clock_ns) << "it looks at the clock twice";
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
