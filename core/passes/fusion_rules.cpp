#include "core/passes/fusion_rules.h"

#include <algorithm>

namespace lockstep {
namespace {

/// Whether `dims` are begin, begin + 1, ..., end - 1.
bool is_range(IntView dims, int begin, int end) {
  if (static_cast<int>(dims.size()) != end - begin) return false;
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != begin + static_cast<std::int64_t>(i)) return false;
  return true;
}

FusionKind kind_of_reduction(const Node& node, int rank) {
  if (node.op == Op::kArgMax || node.op == Op::kArgMin)
    return rank > 1 && node.attrs.integer(Attr::kAxis) == rank - 1 ? FusionKind::kRowReduction
                                                                   : FusionKind::kNone;
  const auto dims = node.attrs.ints(Attr::kDims);
  const int count = static_cast<int>(dims.size());
  if (count == 0) return FusionKind::kNone;
  if (count < rank && is_range(dims, rank - count, rank)) return FusionKind::kRowReduction;
  if (node.op != Op::kReduceSum || !is_range(dims, 0, count)) return FusionKind::kNone;
  return count < rank ? FusionKind::kColumnSum : FusionKind::kTotal;
}

/// Whether groups read the slice in its operand.
bool is_read_in_place(const Graph& graph, const Node& slice) {
  const Shape& from = graph[slice.operands[0]].type.shape;
  const Shape& to = slice.type.shape;
  const auto strides = slice.attrs.ints(Attr::kStride);
  if (std::ranges::any_of(strides, [](std::int64_t stride) { return stride != 1; })) return false;
  if (to.elements() * kMinSlicedPart < from.elements()) return false;
  int outer = 0;
  while (outer < to.rank() && to[outer] == 1) ++outer;
  for (int i = outer + 1; i < to.rank(); ++i)
    if (to[i] != from[i]) return true;  // it is not contiguous
  return false;
}

bool is_joined(const Graph& graph, const Node& concatenation) {
  const Operands& parts = concatenation.operands;
  return parts.size() <= kMaxJoinedParts && std::ranges::all_of(parts, [&](ValueId part) {
           return graph[part].type == graph[parts[0]].type &&
                  fusion_kind(graph, graph[part]) == FusionKind::kElementwise;
         });
}

}  // namespace

FusionKind fusion_kind(const Graph& graph, const Node& node) {
  const auto is_wide = [&](ValueId id) { return graph[id].type.dtype == DType::kF64; };
  if (node.type.dtype == DType::kF64 || std::ranges::any_of(node.operands, is_wide))
    return FusionKind::kNone;
  if (info_of(node.op).op_class == OpClass::kReduction)
    return kind_of_reduction(node, graph[node.operands[0]].type.shape.rank());
  if (node.op == Op::kConcatenate)
    return is_joined(graph, node) ? FusionKind::kConcatenation : FusionKind::kNone;
  const bool member = is_elementwise(node.op) || node.op == Op::kBroadcast ||
                      (node.op == Op::kSlice && is_read_in_place(graph, node)) ||
                      node.op == Op::kIota || node.op == Op::kRandomBits;
  return member ? FusionKind::kElementwise : FusionKind::kNone;
}

bool is_scalar_constant(const Node& node) {
  return node.op == Op::kConstant && node.type.shape.rank() == 0;
}

bool reads_other_shape(const Graph& graph, const Node& member, std::size_t i) {
  if (is_scalar_constant(graph[member.operands[i]])) return false;
  return member.op == Op::kBroadcast || member.op == Op::kSlice || member.op == Op::kRandomBits;
}

bool is_row_broadcast(const Graph& graph, const Node& broadcast) {
  const Shape& from = graph[broadcast.operands[0]].type.shape;
  if (from.rank() == 0 || from.rank() >= broadcast.type.shape.rank()) return false;
  for (int i = 0; i < from.rank(); ++i)
    if (from[i] != broadcast.type.shape[i]) return false;
  return is_range(broadcast.attrs.ints(Attr::kDims), 0, from.rank());
}

std::vector<bool> find_cheap(const Graph& graph) {
  constexpr int kMaxDepth = 4;
  // The length of the chain of compares and converts; 0 for values that are not cheap.
  std::vector<int> depth(graph.nodes.size(), 0);
  std::vector<bool> cheap(graph.nodes.size(), false);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const OpClass op_class = info_of(node.op).op_class;
    if (node.op == Op::kIota || node.op == Op::kBroadcast || node.op == Op::kSlice ||
        is_scalar_constant(node)) {
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
    cheap[i] = depth[i] > 0 && is_fusible(graph, node);
  }
  return cheap;
}

}  // namespace lockstep
