#include "core/trace/recomputation.h"

#include <algorithm>

#include "core/trace/ops.h"
#include "core/trace/origin_scope.h"

namespace lockstep {

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
  // A function on the host is not called twice: what it gives is small, and may have taken long.
  return op != Op::kInput && op != Op::kHostCall && op != Op::kGroupResult;
}

ValueId Recomputation::copy_of(ValueId id) {
  if (!varying_[static_cast<std::size_t>(id)]) return id;
  if (is_inside(id) && std::ranges::find(region_.outputs, id) != region_.outputs.end()) return id;
  if (const auto found = copies_.find(id); found != copies_.end()) return found->second;
  const ValueId copy = record_copy(id);
  copies_.emplace(id, copy);
  return copy;
}

ValueId Recomputation::record_copy(ValueId id) {
  const Node node = context_.pending()[id];  // a copy: recording moves the pending nodes
  std::vector<Tensor> operands;
  if (is_inside(id))
    for (const ValueId operand : node.operands)
      operands.push_back(context_.tensor_of(copy_of(operand)));
  const OriginScope scope(context_, &node.origin);
  if (!is_inside(id)) return context_.node_of(optimization_barrier(context_.tensor_of(id)));
  return context_.node_of(node.op == Op::kCall ? context_.record_call(node.body, operands)
                                               : context_.record(node.op, operands, node.attrs));
}

}  // namespace lockstep
