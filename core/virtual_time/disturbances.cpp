#include "core/virtual_time/disturbances.h"

#include <cmath>

#include "core/base/rng.h"

namespace lockstep {

double slowdown(const Disturbances& disturbances, int rank, std::int64_t step) {
  double out = 1;
  for (const SlowRank& each : disturbances.slow_ranks)
    if (each.rank == rank && each.first_step <= step && step <= each.last_step) out *= each.slow;
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
