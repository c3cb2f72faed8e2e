#include "trainer/foresee/run_model.h"

#include <algorithm>

#include "core/runtime/plan_cost.h"
#include "core/runtime/step_cost.h"
#include "trainer/apps/from_config.h"
#include "trainer/config/batch_plan.h"
#include "trainer/devices/this_machine.h"
#include "trainer/foresee/foresee.h"

namespace lockstep {
namespace {

WorkTimes times_of(const Plan& plan, const MachineLimits& limits, const StepPlacement& placement,
                   double calls) {
  const CostByClass costs = cost_by_class(plan, lower_bounds_of_bundles(limits, placement.cores));
  WorkTimes out{};
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = calls * expected(work_factor(limits.steps, name_of(static_cast<WorkClass>(i)),
                                          placement.math, placement.cores),
                              costs[i]);
  return out;
}

/// The ranks of a node add their buckets when all have computed; between nodes a bucket is sent
/// when it is complete, which no link changes.
std::vector<ModelBucket> buckets_of(const CompiledStep& step, const MachineLimits& limits,
                                    StepPlacement placement, double sent) {
  placement.link = {.bytes_per_s = 1, .latency_s = 0};
  const StepDurations durations = step_cost(step, limits, placement).durations;
  const auto call = static_cast<double>(std::max<std::int64_t>(durations.micro_batch_ns, 1));
  std::vector<ModelBucket> out;
  out.reserve(durations.buckets.size());
  for (std::size_t i = 0; i < durations.buckets.size(); ++i)
    out.push_back({.bytes = bytes_of(step.reduction.buckets[i]),
                   .ready = static_cast<double>(durations.buckets[i].ready_ns) / call,
                   .cores = exchange_seconds(limits, sent * bytes_of(step.reduction.buckets[i]))});
  return out;
}

}  // namespace

RunModel model_run(const Config& config, const CompiledStep& step, const MachineLimits& limits,
                   int ranks, int nodes) {
  const BatchPlan batch = plan_batch(in_any_order(config).batch, ranks);
  const StepPlacement placement{.cores = {.threads = device_threads(config, ranks / nodes),
                                          .ranks = std::max(1, ranks / nodes)},
                                .nodes = nodes,
                                .math = compute_dtype(config.training.precision),
                                .micro_batches = batch.micro_batches_per_rank,
                                .overlap = config.distributed.overlap};
  RunModel out;
  out.micro_batches = batch.micro_batches_per_rank;
  out.gradient = times_of(step.gradient, limits, placement, static_cast<double>(out.micro_batches));
  out.update = times_of(step.update, limits, placement, 1);
  out.sent = nodes > 1 ? sent_share(nodes) : 0;
  if (ranks > 1) out.buckets = buckets_of(step, limits, placement, out.sent);
  if (limits.steps.sums_bytes_per_s > 0)
    out.sums = static_cast<double>(step.reduction.bytes) / limits.steps.sums_bytes_per_s;
  return out;
}

}  // namespace lockstep
