#include "core/virtual_time/many_ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/virtual_time/event_rule.h"

namespace lockstep {
namespace {

StepDurations step() {
  return {.micro_batch_ns = 80'000'000,
          .sums_ns = 1'000'000,
          .buckets = {{40'000'000, 5'000'000}, {79'000'000, 5'000'000}},
          .interference_ppm = 100'000,
          .update_ns = 6'000'000,
          .waits_ns = 1000};
}

double mean(const std::vector<std::int64_t>& steps) {
  return static_cast<double>(std::accumulate(steps.begin(), steps.end(), std::int64_t{0})) /
         static_cast<double>(steps.size());
}

TEST(ManyRanks, AreOneIfTheyAreAlike) {
  const std::int64_t alone = steady_step(step(), 2).end_ns;
  for (const int ranks : {1, 2, 64, 4096})
    for (const std::int64_t each :
         simulate_steps({.step = step(), .micro_batches = 2, .ranks = ranks}, 3))
      EXPECT_EQ(each, alone);
}

TEST(ManyRanks, WaitForTheSlowOne) {
  SimulatedJob job{.step = step(), .ranks = 512};
  job.disturbances.slow_ranks = {{.rank = 77, .slow = 1.5, .steps = {2, 3}}};
  const std::vector<std::int64_t> steps = simulate_steps(job, 6);
  const StepDurations slow = slowed(step(), 1.5);
  // The slow rank hides less of the first bucket behind its commands, and no other is as late.
  EXPECT_EQ(steps[1], steady_step(step(), 1).end_ns);
  EXPECT_EQ(steps[3], steady_step(slow, 1).end_ns);
  EXPECT_EQ(steps[5], steps[1]);
}

TEST(ManyRanks, ShareLinksOfWhichOneIsSlow) {
  StepDurations linked = step();
  linked.both_levels_ppm = 500'000;
  for (BucketDuration& bucket : linked.buckets) {
    bucket.within_ns = 2'000'000;
    bucket.between_ns = 3'000'000;  // with half of the other and 1 ms of latency: 5 ms
  }
  SimulatedJob job{.step = linked, .ranks = 16};
  job.disturbances.slow_links = {
      {.a = 0, .b = 1, .between_nodes = false, .bandwidth = 0.25, .steps = {1, 1}},
      {.a = 0, .b = 8, .between_nodes = true, .bandwidth = 0.5, .steps = {2, 2}}};
  const std::vector<std::int64_t> steps = simulate_steps(job, 4);
  StepDurations expected = linked;
  EXPECT_EQ(steps[0], steady_step(expected, 1).end_ns);
  for (BucketDuration& bucket : expected.buckets)
    bucket.all_reduce_ns = 1'000'000 + 8'000'000 + 1'500'000;
  EXPECT_EQ(steps[1], steady_step(expected, 1).end_ns);
  for (BucketDuration& bucket : expected.buckets)
    bucket.all_reduce_ns = 1'000'000 + 6'000'000 + 1'000'000;
  EXPECT_EQ(steps[2], steady_step(expected, 1).end_ns);
  EXPECT_EQ(steps[3], steps[0]);
}

/// The expected maximum of n normal numbers grows like sqrt(2 ln n): 2.4 for 64, 3.6 for 4,096
/// (tables of normal order statistics: 2.39 and 3.59 or so).
TEST(ManyRanks, PayForJitterByTheLargestOfAll) {
  constexpr double kJitter = 0.01;
  for (const auto& [ranks, expected] : {std::pair{64, 2.4}, {4096, 3.6}}) {
    SimulatedJob job{.step = {.micro_batch_ns = 100'000'000, .buckets = {{100'000'000, 0}}},
                     .ranks = ranks};
    job.disturbances = {.jitter = kJitter, .seed = 7};
    // The mean of 200 maxima is off by about 0.45 / sqrt(200) = 0.03 standard deviations.
    EXPECT_NEAR(std::log(mean(simulate_steps(job, 200)) / 1e8) / kJitter, expected, 0.15) << ranks;
  }
}

}  // namespace
}  // namespace lockstep
