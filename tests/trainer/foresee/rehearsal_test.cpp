#include "trainer/foresee/rehearsal.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/virtual_time/event_rule.h"
#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

Foresight on(int devices) {
  Foresight out;
  out.deployment.devices = devices;
  out.micro_batches = 2;
  out.time.durations = {.micro_batch_ns = 100'000'000,
                        .buckets = {{100'000'000, 10'000'000}},
                        .update_ns = 5'000'000};
  out.time.seconds = seconds_of(steady_step(out.time.durations, 2).end_ns);
  return out;
}

TEST(Rehearsal, AsksNothingByDefault) {
  const Rehearsal found = rehearse(on(8), 1, {});
  EXPECT_FALSE(found.disturbed);
  EXPECT_FALSE(found.saves);
}

TEST(Rehearsal, SimulatesAllThatTheWordsName) {
  const Rehearsal found = rehearse(on(512), 1, {.disturbances = {"rank=511 slow=2 steps=300:399"}});
  const DisturbedSteps steps = found.disturbed.value_or(DisturbedSteps{});
  EXPECT_EQ(steps.steps, 400);
  EXPECT_DOUBLE_EQ(steps.least_s, 0.215);
  EXPECT_NEAR(steps.most_s, 0.420, 0.01) << "but for the update of the others";
}

/// A save of 50 s, and a failure every 10,000 s: every sqrt(2 50 10,000) = 1,000 s.
TEST(Rehearsal, SavesAsYoungAndDalySay) {
  const Foresight job = on(36);
  const Rehearsal found =
      rehearse(job, 1, {.hours_between_failures = 100, .save_seconds = 50, .restart_seconds = 200});
  const SavePlan saves = found.saves.value_or(SavePlan{});
  EXPECT_EQ(saves.interval, std::llround(1000 / job.time.seconds));
  EXPECT_NEAR(saves.hours_between_failures, 100.0 / 36, 1e-12);
  EXPECT_NEAR(saves.goodput, 1000.0 / 1050 * (1 - (525 + 200) / 1e4), 1e-4);
}

TEST(Rehearsal, RefusesDividedWeights) {
  Foresight job = on(8);
  job.deployment.parallelism = Parallelism::kFsdp;
  EXPECT_EQ(usage_error([&] { rehearse(job, 1, {.disturbances = {"jitter=0.1"}}); }),
            "--simulate knows dp and zero1, not fsdp");
}

}  // namespace
}  // namespace lockstep
