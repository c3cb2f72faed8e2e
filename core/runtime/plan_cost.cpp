#include "core/runtime/plan_cost.h"

namespace lockstep {
namespace {

WorkKind kind_of(WorkClass work) {
  switch (work) {
    case WorkClass::kDot:
    case WorkClass::kConvolution:
    case WorkClass::kAttention: return WorkKind::kDot;
    case WorkClass::kPool:
    case WorkClass::kReduce:
    case WorkClass::kFused:
    case WorkClass::kFusedReduce:
    case WorkClass::kMovement:
    case WorkClass::kGather:
    case WorkClass::kScatterAdd:
    case WorkClass::kOptimizer: return WorkKind::kElementwise;
    case WorkClass::kCopy:
    case WorkClass::kHostCall: return WorkKind::kCopy;
    case WorkClass::kCollective: return WorkKind::kAllReduce;
  }
  __builtin_unreachable();
}

/// The dtype of the operands determines the rate of a product, not that of the result.
DType dtype_of(const Graph& graph, const Node& node) {
  return node.operands.empty() ? node.type.dtype : graph[node.operands[0]].type.dtype;
}

}  // namespace

Work bundle_work(const Plan& plan, std::size_t first) {
  const Command& command = plan.commands[first];
  Work out;
  out.kind = kind_of(command.work);
  out.dtype = dtype_of(plan.graph, plan.graph[command.value]);
  for (std::size_t c = first; c < next_bundle(plan, first); ++c) {
    out.flops += plan.commands[c].flops;
    out.bytes += plan.commands[c].bytes;
  }
  return out;
}

BundleSeconds lower_bounds_of_bundles(const MachineLimits& limits, BusyCores cores) {
  return [&limits, cores](const Plan& plan, std::size_t first) {
    return lower_bound_seconds(limits, bundle_work(plan, first), cores);
  };
}

CostByClass cost_by_class(const Plan& plan, const BundleSeconds& seconds) {
  CostByClass out;
  for (std::size_t first = 0; first < plan.commands.size(); first = next_bundle(plan, first)) {
    WorkCost& cost = out[static_cast<std::size_t>(plan.commands[first].work)];
    const Work work = bundle_work(plan, first);
    ++cost.bundles;
    cost.seconds += seconds(plan, first);
    cost.flops += work.flops;
    cost.bytes += work.bytes;
  }
  return out;
}

}  // namespace lockstep
