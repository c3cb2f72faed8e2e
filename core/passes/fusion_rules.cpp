#include "core/passes/fusion_rules.h"

#include <algorithm>

namespace lockstep {

bool is_fusible(const Node& node) {
  return is_elementwise(node.op) || node.op == Op::kBroadcast || node.op == Op::kIota ||
         node.op == Op::kRandomBits;
}

bool is_scalar_constant(const Node& node) {
  return node.op == Op::kConstant && node.type.shape.rank() == 0;
}

bool needs_memory(const Graph& graph, const Node& member, std::size_t i) {
  if (is_scalar_constant(graph[member.operands[i]])) return false;
  return member.op == Op::kBroadcast || member.op == Op::kRandomBits;
}

bool may_join(const Graph& graph, ValueId producer, ValueId root) {
  return is_fusible(graph[producer]) && graph[producer].type.shape == graph[root].type.shape;
}

std::vector<bool> find_cheap(const Graph& graph) {
  constexpr int kMaxDepth = 4;
  // The length of the chain of compares and converts; 0 for what is not cheap.
  std::vector<int> depth(graph.nodes.size(), 0);
  std::vector<bool> cheap(graph.nodes.size(), false);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const OpClass op_class = info_of(node.op).op_class;
    if (node.op == Op::kIota || node.op == Op::kBroadcast || is_scalar_constant(node)) {
      depth[i] = 1;
    } else if (op_class == OpClass::kCompare || op_class == OpClass::kConvert) {
      int longest = 0;
      bool all_cheap = true;
      for (const ValueId operand : node.operands) {
        const int d = depth[static_cast<std::size_t>(operand)];
        all_cheap = all_cheap && d > 0;
        longest = std::max(longest, d);
      }
      if (all_cheap && longest < kMaxDepth) depth[i] = longest + 1;
    }
    cheap[i] = depth[i] > 0 && is_fusible(node);
  }
  return cheap;
}

}  // namespace lockstep
