#include "core/runtime/step_cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lockstep {
namespace {

/// Of what Ethernet carries: 1500 bytes a frame, of which 52 are headers of IP and TCP, and 14 of
/// its own.
constexpr double kPayload = 1448.0 / 1514;

/// Bytes that a node sends of each byte that is all-reduced, if its ranks' micro-batches are one
/// subtree of the sum: see "Collectives" in ARCHITECTURE.md.
double sent_share(int nodes) {
  return 2.0 * (nodes - 1) / nodes;
}

class CostOfStep {
 public:
  CostOfStep(const CompiledStep& step, const MachineLimits& limits, const StepPlacement& placement)
      : step_(step),
        limits_(limits),
        placement_(placement),
        lower_bounds_(lower_bounds_of_bundles(limits, placement.cores)) {}

  StepCost total() {
    add_plan(step_.gradient, static_cast<double>(placement_.micro_batches));
    add_plan(step_.update, 1);
    add_sums();
    add_all_reduce();
    const StepOverhead overhead = step_overhead(limits_.steps, placement_.cores);
    out_.overhead = overhead.node_seconds * static_cast<double>(step_.step.nodes.size());
    out_.waits = overhead.waits * out_.commands();
    return out_;
  }

 private:
  double expected(const Plan& plan, std::size_t bundle) const {
    return lower_bounds_(plan, bundle) * factor(plan.commands[bundle].work);
  }

  double factor(WorkClass work) const {
    return work_factor(limits_.steps, name_of(work), placement_.math, placement_.cores);
  }

  void add_plan(const Plan& plan, double times) {
    const CostByClass classes = cost_by_class(plan, lower_bounds_);
    for (std::size_t i = 0; i < classes.size(); ++i) {
      const auto work = static_cast<WorkClass>(i);
      out_.lower_bounds[i] += times * classes[i].seconds;
      out_.work[i] += times * classes[i].seconds * factor(work);
      if (work == WorkClass::kDot || work == WorkClass::kConvolution ||
          work == WorkClass::kAttention)
        out_.flops += times * classes[i].flops;
    }
  }

  void add_sums() {
    const auto additions = static_cast<double>(placement_.micro_batches - 1);
    if (limits_.steps.sums_bytes_per_s > 0)
      out_.sums =
          additions * static_cast<double>(step_.reduction.bytes) / limits_.steps.sums_bytes_per_s;
  }

  void add_all_reduce() {
    for (const Bucket& bucket : step_.reduction.buckets)
      out_.all_reduce += all_reduce_seconds(limits_, bytes_of(bucket), placement_.cores.ranks);
    out_.exposed = out_.all_reduce;
    if (placement_.nodes > 1) add_exchange();
  }

  static double bytes_of(const Bucket& bucket) {
    return static_cast<double>(bucket.count) * static_cast<double>(size_of(bucket.dtype));
  }

  /// Between nodes, buckets follow one another. A core that sends while the last micro-batch is
  /// computed computes that much later; while the step waits, only the slower of link and core
  /// counts, softened.
  void add_exchange() {
    std::vector<double> ready = bucket_times();
    if (!placement_.overlap) std::ranges::fill(ready, last_);
    double sent = 0, on_cores = 0, total = 0;
    for (std::size_t i = 0; i < ready.size(); ++i) {
      const double payload = sent_share(placement_.nodes) * bytes_of(step_.reduction.buckets[i]);
      const double cores = exchange_seconds(limits_, payload);
      const double both = placement_.link.latency_s +
                          std::hypot(payload / (kPayload * placement_.link.bytes_per_s), cores);
      on_cores += cores;
      total += both;
      sent = std::max(sent, ready[i]) + both;
    }
    if (total == 0) return;
    const double waited = std::clamp(sent - last_, 0.0, total);
    out_.all_reduce += total;
    out_.exposed += waited + on_cores * (1 - waited / total);
  }

  /// When each bucket's last gradient is complete, from the begin of the last micro-batch.
  std::vector<double> bucket_times() {
    const ReductionLayout& layout = step_.reduction;
    std::vector<double> out(layout.buckets.size(), 0);
    const Plan& plan = step_.gradient;
    last_ = 0;
    for (std::size_t first = 0; first < plan.commands.size(); first = next_bundle(plan, first)) {
      last_ += expected(plan, first);
      for (std::size_t c = first; c < next_bundle(plan, first); ++c)
        for (const std::int32_t output : plan.commands[c].finishes)
          if (static_cast<std::size_t>(output) < layout.bucket_of.size())
            out[static_cast<std::size_t>(layout.bucket_of[static_cast<std::size_t>(output)])] =
                last_;
    }
    return out;
  }

  const CompiledStep& step_;
  const MachineLimits& limits_;
  const StepPlacement& placement_;
  BundleSeconds lower_bounds_;
  StepCost out_;
  double last_ = 0;  ///< seconds of the last micro-batch
};

}  // namespace

double StepCost::commands() const {
  return std::accumulate(work.begin(), work.end(), 0.0);
}

StepCost step_cost(const CompiledStep& step, const MachineLimits& limits,
                   const StepPlacement& placement) {
  return CostOfStep(step, limits, placement).total();
}

}  // namespace lockstep
