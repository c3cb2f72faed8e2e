#include "trainer/foresee/rehearsal.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.h"
#include "core/virtual_time/many_ranks.h"
#include "trainer/devices/disturbance_words.h"

namespace lockstep {
namespace {

/// The last step that the disturbances name, and some more: all that is named is seen.
std::int64_t steps_to_simulate(const Disturbances& disturbances) {
  constexpr std::int64_t kAtLeast = 200, kAtMost = 10'000;
  std::int64_t out = kAtLeast;
  for (const SlowRank& each : disturbances.slow_ranks)
    if (each.steps.last < kAtMost) out = std::max(out, each.steps.last + 1);
  for (const SlowLink& each : disturbances.slow_links)
    if (each.steps.last < kAtMost) out = std::max(out, each.steps.last + 1);
  return out;
}

DisturbedSteps disturbed_steps(const Foresight& foresight, const Disturbances& disturbances) {
  const Parallelism parallelism = foresight.deployment.parallelism;
  LS_USER_CHECK(parallelism == Parallelism::kReplicated || parallelism == Parallelism::kZero1,
                "--simulate knows dp and zero1, not {}", name_of(parallelism));
  const SimulatedJob job{.step = foresight.time.durations,
                         .micro_batches = foresight.micro_batches,
                         .ranks = foresight.deployment.devices,
                         .disturbances = disturbances};
  const std::vector<std::int64_t> steps = simulate_steps(job, steps_to_simulate(disturbances));
  const auto [least, most] = std::ranges::minmax(steps);
  const std::int64_t sum = std::accumulate(steps.begin(), steps.end(), std::int64_t{0});
  return {.steps = static_cast<std::int64_t>(steps.size()),
          .mean_s = seconds_of(sum) / static_cast<double>(steps.size()),
          .least_s = seconds_of(least),
          .most_s = seconds_of(most)};
}

/// A failure of any device ends the job, which loses half an interval on average.
SavePlan plan_saves(double step_s, double hours_between_failures, const RehearsalOptions& options) {
  constexpr double kSecondsOfHour = 3600;
  SavePlan out;
  out.hours_between_failures = hours_between_failures;
  const double between = out.hours_between_failures * kSecondsOfHour;
  const double best = std::sqrt(2 * options.save_seconds * between);
  out.interval = std::max<std::int64_t>(1, std::llround(best / step_s));
  const double trained = static_cast<double>(out.interval) * step_s;
  const double with_save = trained + options.save_seconds;
  const double lost = (with_save / 2 + options.restart_seconds) / between;
  out.goodput = std::max(0.0, trained / with_save * (1 - lost));
  return out;
}

}  // namespace

Rehearsal rehearse(const Foresight& foresight, std::uint64_t seed,
                   const RehearsalOptions& options) {
  Rehearsal out;
  double step_s = foresight.time.seconds;
  const int devices = foresight.deployment.devices;
  if (!options.disturbances.empty()) {
    const Disturbances disturbances =
        parse_disturbances(options.disturbances, seed,
                           {.ranks = devices, .on_node = devices / foresight.deployment.nodes});
    LS_USER_CHECK(
        disturbances.deaths.empty() && disturbances.restart_s == 0 && disturbances.detection_s == 0,
        "--simulate knows no deaths, which `lockstep train` rehearses; --mtbf-hours says "
        "what failures cost");
    out.disturbed = disturbed_steps(foresight, disturbances);
    step_s = out.disturbed->mean_s;
  }
  if (const auto hours = options.hours_between_failures)
    out.saves = plan_saves(step_s, *hours / devices, options);
  return out;
}

}  // namespace lockstep
