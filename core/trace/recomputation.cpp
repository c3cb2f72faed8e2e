#include "core/trace/recomputation.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "core/trace/origin_scope.h"

namespace lockstep {
namespace {

/// The last value behind `id` that is not joined with it in one group (elementwise work and
/// reductions are): a wait for that value separates no groups. kNoValue if there is none.
ValueId last_apart(const Graph& graph, ValueId id) {
  std::set<ValueId> open = {id};
  while (!open.empty()) {
    const Node& node = graph[*open.rbegin()];
    const OpClass of = info_of(node.op).op_class;
    const bool joined = is_elementwise(node.op) || node.op == Op::kBroadcast ||
                        node.op == Op::kReshape || of == OpClass::kReduction ||
                        of == OpClass::kLeaf;
    if (!joined) return *open.rbegin();
    open.erase(std::prev(open.end()));
    open.insert(node.operands.begin(), node.operands.end());
  }
  return kNoValue;
}

}  // namespace

std::vector<bool> find_varying(const Graph& graph) {
  std::vector<bool> out(graph.nodes.size(), false);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    out[i] = node.op == Op::kInput ? node.input_kind == InputKind::kBatch
                                   : std::ranges::any_of(node.operands, [&](ValueId operand) {
                                       return out[static_cast<std::size_t>(operand)];
                                     });
  }
  return out;
}

bool Recomputation::is_inside(ValueId id) const {
  if (id < region_.begin || id >= region_.end) return false;
  const Op op = context_.pending()[id].op;
  // A function on the host is not called twice: its results are small, and it may have taken long.
  return op != Op::kInput && op != Op::kHostCall && op != Op::kGroupResult;
}

ValueId Recomputation::copy_of(ValueId id, const Tensor& gradient) {
  if (!varying_[static_cast<std::size_t>(id)]) return id;
  if (is_inside(id) && std::ranges::find(region_.outputs, id) != region_.outputs.end()) return id;
  if (const auto found = copies_.find(id); found != copies_.end()) return found->second;
  const ValueId copy = record_copy(id, gradient);
  copies_.emplace(id, copy);
  return copy;
}

ValueId Recomputation::record_copy(ValueId id, const Tensor& gradient) {
  const Node node = context_.pending()[id];  // a copy: recording moves the pending nodes
  std::vector<Tensor> operands;
  if (is_inside(id)) {
    for (const ValueId operand : node.operands)
      operands.push_back(context_.tensor_of(copy_of(operand, gradient)));
  } else {
    operands.push_back(context_.tensor_of(id));
    const ValueId after = last_apart(context_.pending(), context_.node_of(gradient));
    if (after != kNoValue) operands.push_back(context_.tensor_of(after));
  }
  // A barrier exists because of the call of remat(), not because of its operand.
  Origin origin = is_inside(id) ? node.origin : region_.origin;
  origin.gradient = true;
  const OriginScope scope(context_, &origin);
  if (!is_inside(id))
    return context_.node_of(context_.record(Op::kOptimizationBarrier, operands, {}));
  return context_.node_of(node.op == Op::kCall ? context_.record_call(node.body, operands)
                                               : context_.record(node.op, operands, node.attrs));
}

}  // namespace lockstep
