#include "core/passes/canonicalize.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/passes/dce.h"
#include "core/passes/movement_rules.h"
#include "core/passes/rewrite.h"

namespace lockstep {
namespace {

constexpr ValueId kMaxNodes = 1 << 18;

/// Appends a call's body to `out`; returns its result. Depth is that of the user's nested calls.
ValueId inline_body(Graph& out, const Graph& body, ArrayRef<ValueId> operands) {
  std::vector<ValueId> now(body.nodes.size(), kNoValue);
  for (std::size_t i = 0; i < body.inputs.size(); ++i)
    now[static_cast<std::size_t>(body.inputs[i])] = operands[i];
  for (std::size_t i = 0; i < body.nodes.size(); ++i) {
    if (body.nodes[i].op == Op::kInput) continue;
    LS_USER_CHECK(out.size() < kMaxNodes, "the calls of this graph expand to over {} nodes",
                  kMaxNodes);
    Node node = body.nodes[i];
    for (ValueId& operand : node.operands) operand = now[static_cast<std::size_t>(operand)];
    if (body.strings != out.strings) {
      node.origin.file = out.strings->intern(node.origin.file);
      node.origin.scope = out.strings->intern(node.origin.scope);
    }
    now[i] = node.op == Op::kCall ? inline_body(out, *node.body, node.operands)
                                  : out.append(std::move(node));
  }
  return now[static_cast<std::size_t>(body.outputs[0])];
}

Graph inline_calls(Graph graph) {
  const auto is_call = [](const Node& node) { return node.op == Op::kCall; };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), is_call)) return graph;
  Rewriter rewriter(graph);
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (!is_call(graph[id])) {
      rewriter.copy(id);
      continue;
    }
    const Node call = rewriter.moved(id);
    rewriter.set(id, inline_body(rewriter.out(), *call.body, call.operands));
  }
  return rewriter.finish();
}

ValueId drop_same_convert(Builder& b, const Node& node) {
  if (node.op != Op::kConvert || b.type(node.operands[0]) != node.type) return kNoValue;
  return node.operands[0];
}

ValueId order_operands(Builder& b, const Node& node) {
  if (!info_of(node.op).commutative) return kNoValue;
  // Which zero is the maximum of 0 and -0 depends on their order.
  const bool picks = node.op == Op::kMaximum || node.op == Op::kMinimum;
  if (picks && is_float(node.type.dtype)) return kNoValue;
  const auto rank = [&](ValueId id) {
    const bool constant = b[id].op == Op::kConstant || splat_source(b, id) != kNoValue;
    return std::pair(constant, id);
  };
  if (rank(node.operands[0]) <= rank(node.operands[1])) return kNoValue;
  Node swapped = node;
  std::swap(swapped.operands[0], swapped.operands[1]);
  return b.emit(std::move(swapped));
}

}  // namespace

Graph canonicalize(Graph graph, const Target& target) {
  (void)target;
  std::vector<Rule> rules = {drop_same_convert, order_operands};
  rules.insert(rules.end(), movement_rules().begin(), movement_rules().end());
  return apply_rules(drop_dead(inline_calls(std::move(graph))), rules);
}

}  // namespace lockstep
