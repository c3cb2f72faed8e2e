#include "core/virtual_time/disturbances.h"

#include <algorithm>
#include <cmath>

#include "core/base/rng.h"

namespace lockstep {
namespace {

/// What is left of the bandwidth of links within nodes, or between them.
double bandwidth_left(const Disturbances& disturbances, bool between_nodes, std::int64_t step) {
  double out = 1;
  for (const SlowLink& each : disturbances.slow_links)
    if (each.between_nodes == between_nodes && each.steps.contains(step))
      out = std::min(out, each.bandwidth);
  return out;
}

/// Of both levels together: of the quicker one a share is not hidden.
double moving_ns(double within, double between, std::int64_t both_levels_ppm) {
  constexpr double kMillion = 1e6;
  return std::max(within, between) +
         static_cast<double>(both_levels_ppm) / kMillion * std::min(within, between);
}

}  // namespace

double slowdown(const Disturbances& disturbances, int rank, std::int64_t step) {
  double out = 1;
  for (const SlowRank& each : disturbances.slow_ranks)
    if (each.rank == rank && each.steps.contains(step)) out *= each.slow;
  if (disturbances.jitter > 0) {
    const RngKey key{.seed = disturbances.seed,
                     .stream = rng_stream("device.simulate.jitter"),
                     .step = static_cast<std::uint64_t>(step)};
    float normal = 0;
    random_normal(key, static_cast<std::uint64_t>(rank), {&normal, 1});
    out *= std::exp(disturbances.jitter * static_cast<double>(normal));
  }
  return out;
}

StepDurations disturbed(const StepDurations& step, const Disturbances& disturbances, int rank,
                        std::int64_t number) {
  StepDurations out = slowed(step, slowdown(disturbances, rank, number));
  const double within_left = bandwidth_left(disturbances, false, number);
  const double between_left = bandwidth_left(disturbances, true, number);
  if (within_left == 1 && between_left == 1) return out;
  for (BucketDuration& bucket : out.buckets) {
    const auto within = static_cast<double>(bucket.within_ns);
    const auto between = static_cast<double>(bucket.between_ns);
    const std::int64_t ppm = step.both_levels_ppm;
    bucket.all_reduce_ns +=
        std::llround(moving_ns(within / within_left, between / between_left, ppm) -
                     moving_ns(within, between, ppm));
  }
  return out;
}

StepDurations slowed(const StepDurations& step, double factor) {
  const auto longer = [factor](std::int64_t ns) {
    return std::llround(factor * static_cast<double>(ns));
  };
  StepDurations out = step;
  out.micro_batch_ns = longer(step.micro_batch_ns);
  out.sums_ns = longer(step.sums_ns);
  out.update_ns = longer(step.update_ns);
  for (BucketDuration& bucket : out.buckets) bucket.ready_ns = longer(bucket.ready_ns);
  return out;
}

}  // namespace lockstep
