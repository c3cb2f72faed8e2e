#include "core/runtime/step_cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/virtual_time/event_rule.h"

namespace lockstep {
namespace {

WorkFactor class_factor(WorkClass work, const MachineLimits& limits,
                        const StepPlacement& placement) {
  return work_factor(limits.steps, name_of(work), placement.math, placement.cores);
}

void add(double times, const WorkCost& cost, WorkCost& sum) {
  sum.bundles += static_cast<std::size_t>(times) * cost.bundles;
  sum.seconds += times * cost.seconds;
  sum.flops += times * cost.flops;
  sum.bytes += times * cost.bytes;
}

class CostOfStep {
 public:
  CostOfStep(const CompiledStep& step, const MachineLimits& limits, const StepPlacement& placement)
      : step_(step),
        limits_(limits),
        placement_(placement),
        lower_bounds_(lower_bounds_of_bundles(limits, placement.cores)),
        expected_(expected_of_bundles(limits, placement)) {}

  StepCost total() {
    const double micro_batch = add_plan(step_.gradient, micro_batches());
    const double update = add_plan(step_.update, 1);
    const StepOverhead overhead = step_overhead(limits_.steps, placement_.cores);
    out_.overhead = overhead.node_seconds * static_cast<double>(step_.step.nodes.size());
    out_.waits = overhead.waits * out_.commands();

    StepDurations& durations = out_.durations;
    durations.micro_batch_ns = to_ns(micro_batch);
    durations.sums_ns = to_ns(sums());
    const double on_node = placement_.nodes > 1 ? add_exchange() : add_node_sums();
    durations.update_ns = to_ns(update + on_node + out_.overhead);
    durations.waits_ns = to_ns(out_.waits);
    durations.flops = out_.flops;
    const StepTimes steady = steady_step(durations, placement_.micro_batches);
    out_.sums = (micro_batches() - 1) * sums();
    out_.exposed = seconds_of(steady.exposed_ns()) + on_node;
    out_.seconds = seconds_of(steady.end_ns);
    return out_;
  }

 private:
  double micro_batches() const { return static_cast<double>(placement_.micro_batches); }

  /// Returns the expected seconds of one call.
  double add_plan(const Plan& plan, double times) {
    const CostByClass classes = cost_by_class(plan, lower_bounds_);
    double once = 0;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      const auto work = static_cast<WorkClass>(i);
      const double seconds = expected(class_factor(work, limits_, placement_), classes[i]);
      once += seconds;
      add(times, classes[i], out_.bounds[i]);
      out_.work[i] += times * seconds;
      if (work == WorkClass::kDot || work == WorkClass::kConvolution ||
          work == WorkClass::kAttention)
        out_.flops += times * classes[i].flops;
    }
    return once;
  }

  double sums() const {
    const double rate = limits_.steps.sums_bytes_per_s;
    return rate > 0 ? static_cast<double>(step_.reduction.bytes) / rate : 0;
  }

  double on_node(const Bucket& bucket) const {
    return all_reduce_seconds(limits_, bytes_of(bucket), placement_.cores.ranks);
  }

  /// The ranks of a node add the buckets when all have computed: there is nothing else that they
  /// could do.
  double add_node_sums() {
    for (const Bucket& bucket : step_.reduction.buckets) {
      out_.all_reduce += on_node(bucket);
      const std::int64_t ns = to_ns(on_node(bucket));
      out_.durations.buckets.push_back({.ready_ns = out_.durations.micro_batch_ns,
                                        .all_reduce_ns = ns,
                                        .within_ns = ns,
                                        .bytes = std::llround(bytes_of(bucket))});
    }
    return 0;
  }

  /// Between nodes. A core that sends while the last micro-batch is computed computes that much
  /// later; while the step waits, only the slower of link and core counts, softened. Returns the
  /// seconds of sums within the nodes.
  double add_exchange() {
    const std::vector<double> ready = bucket_times();
    double sent = 0, on_cores = 0, within = 0;
    for (std::size_t i = 0; i < ready.size(); ++i) {
      const Bucket& bucket = step_.reduction.buckets[i];
      const double payload = sent_share(placement_.nodes) * bytes_of(bucket);
      const double cores = exchange_seconds(limits_, payload);
      const double both =
          placement_.link.latency_s + std::hypot(link_seconds(placement_.link, payload), cores);
      out_.durations.buckets.push_back({.ready_ns = to_ns(ready[i]),
                                        .all_reduce_ns = to_ns(both),
                                        .between_ns = to_ns(both - placement_.link.latency_s),
                                        .bytes = std::llround(bytes_of(bucket))});
      on_cores += cores;
      sent += both;
      within += on_node(bucket);
    }
    constexpr double kMillion = 1e6;
    if (sent > 0) out_.durations.interference_ppm = std::llround(kMillion * on_cores / sent);
    out_.all_reduce = sent + within;
    return within;
  }

  /// When each bucket's last gradient is complete, in seconds from the begin of the last
  /// micro-batch; without overlap all are at its end.
  std::vector<double> bucket_times() const {
    const ReductionLayout& layout = step_.reduction;
    std::vector<double> out(layout.buckets.size(), 0);
    const Plan& plan = step_.gradient;
    double now = 0;
    for (std::size_t first = 0; first < plan.commands.size(); first = next_bundle(plan, first)) {
      now += expected_(plan, first);
      for (std::size_t c = first; c < next_bundle(plan, first); ++c)
        for (const std::int32_t output : plan.commands[c].finishes)
          if (static_cast<std::size_t>(output) < layout.bucket_of.size())
            out[static_cast<std::size_t>(layout.bucket_of[static_cast<std::size_t>(output)])] = now;
    }
    if (!placement_.overlap) std::ranges::fill(out, now);
    return out;
  }

  const CompiledStep& step_;
  const MachineLimits& limits_;
  const StepPlacement& placement_;
  BundleSeconds lower_bounds_;
  BundleSeconds expected_;
  StepCost out_;
};

}  // namespace

double link_seconds(const NodeLink& link, double payload) {
  // Of what Ethernet carries: 1500 bytes a frame, of which 52 are headers of IP and TCP, and 14 of
  // its own.
  constexpr double kPayload = 1448.0 / 1514;
  return payload / (kPayload * link.bytes_per_s);
}

double sent_share(int nodes) {
  return 2.0 * (nodes - 1) / nodes;
}

double StepCost::commands() const {
  return std::accumulate(work.begin(), work.end(), 0.0);
}

double expected(const WorkFactor& factor, const WorkCost& bound) {
  return factor.seconds(bound.seconds, bound.bytes, static_cast<double>(bound.bundles));
}

BundleSeconds expected_of_bundles(const MachineLimits& limits, const StepPlacement& placement) {
  return [lower_bounds = lower_bounds_of_bundles(limits, placement.cores), &limits, placement](
             const Plan& plan, std::size_t first) {
    return class_factor(plan.commands[first].work, limits, placement)
        .seconds(lower_bounds(plan, first), bundle_work(plan, first).bytes, 1);
  };
}

StepCost step_cost(const CompiledStep& step, const MachineLimits& limits,
                   const StepPlacement& placement) {
  return CostOfStep(step, limits, placement).total();
}

}  // namespace lockstep
