#include "core/virtual_time/virtual_clock.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "core/base/clock.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMs = 1'000'000;

/// A run whose steps take 10 ms on the device.
class VirtualRun {
 public:
  explicit VirtualRun(const VirtualClockOptions& options) : clock(options) {}

  /// Hands over a step and runs it; returns when its results exist.
  std::int64_t step() {
    const std::vector<HostEvent> events = clock.hand_over(true);
    VirtualExecution execution;
    execution.durations = &durations;
    execution.step = steps++;
    clock.begin(events, execution);
    return clock.end(execution);
  }
  /// The last of the steps since the last call.
  VirtualStep last() { return clock.take_steps(steps).back(); }

  StepDurations durations{.micro_batch_ns = 10 * kMs, .flops = 5e9};
  std::int64_t steps = 0;
  VirtualClock clock;
};

VirtualClockOptions stated(double step_ms, double sample_ms = 0, double compile_ms = 0) {
  return {.host = {.time = HostTime::kStated,
                   .step_ms = step_ms,
                   .sample_ms = sample_ms,
                   .compile_ms = compile_ms},
          .peak_flops = 1e12};
}

TEST(VirtualClock, TakesStatedTimes) {
  VirtualRun run(stated(2, 0.5, 100));
  EXPECT_EQ(run.step(), 12 * kMs);
  run.clock.take_batch(40, 0, 0);
  EXPECT_EQ(run.step(), 32 * kMs) << "20 ms for 40 samples, then 2 ms for the step";
  EXPECT_EQ(run.last().begin.inputs_ns, 10 * kMs) << "since the end of the first step";
  run.clock.compiled();
  EXPECT_EQ(run.step(), 22 * kMs + 102 * kMs + 10 * kMs);
  EXPECT_EQ(run.last().ideal_ns, 5 * kMs);
}

TEST(VirtualClock, ReadsAreWaitedForUnlessTheyAreOutside) {
  VirtualRun run(stated(2));
  std::int64_t end = run.step();
  run.clock.outside([&] { run.clock.read(end, 0); });
  EXPECT_EQ(run.step(), end + 10 * kMs) << "the host was ahead";
  end += 10 * kMs;
  run.clock.read(end, 0);
  EXPECT_EQ(run.step(), end + 12 * kMs) << "the host went on when the step had ended";
  EXPECT_THROW(run.clock.outside([] { throw std::runtime_error("no"); }), std::runtime_error);
  end += 12 * kMs;
  run.clock.read(end, 0);
  EXPECT_EQ(run.step(), end + 12 * kMs);
}

TEST(VirtualClock, CopiesTakeTheLinkToTheHost) {
  VirtualClockOptions options = stated(0);
  options.host_link_bytes_per_s = 1e9;
  VirtualRun run(options);
  run.clock.take_batch(1, 3'000'000, 0);
  EXPECT_EQ(run.step(), 13 * kMs);
  run.clock.read(13 * kMs, 1'000'000);
  run.clock.copy(run.clock.hand_over(false), 5'000'000);
  EXPECT_EQ(run.step(), 13 * kMs + 1 * kMs + 5 * kMs + 10 * kMs);
  EXPECT_EQ(run.last().begin.idle_ns, 0) << "since the copy";
}

TEST(VirtualClock, MeasuresTheCpuTimeOfItsThread) {
  VirtualClockOptions options;
  options.host = {.time = HostTime::kMeasured, .factor = 1000};
  VirtualRun run(options);
  run.step();  // from here on it measures
  const auto work = [] {
    const std::int64_t end = thread_cpu_ns() + kMs;
    while (thread_cpu_ns() < end) {
    }
  };
  work();
  run.step();
  EXPECT_GT(run.last().begin.idle_ns, 900 * kMs);
  run.clock.outside(work);
  run.step();
  EXPECT_LT(run.last().begin.idle_ns, 900 * kMs);
}

TEST(VirtualClock, SumsAllStepsButTheFirst) {
  VirtualRun run(stated(2));
  for (int i = 0; i < 3; ++i) run.step();
  const VirtualTotals totals = run.clock.totals();
  EXPECT_EQ(totals.steps, 2);
  EXPECT_EQ(totals.all_ns, 20 * kMs);
  EXPECT_EQ(totals.gradient_ns, 20 * kMs);
  EXPECT_EQ(run.clock.take_steps(0).size(), 1U);
  EXPECT_EQ(run.clock.take_steps(5).size(), 2U);
  EXPECT_TRUE(run.clock.take_steps(5).empty());
}

}  // namespace
}  // namespace lockstep
