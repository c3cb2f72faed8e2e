#include "core/passes/buffer_aliases.h"

#include <optional>

namespace lockstep {
namespace {

constexpr std::int64_t kViewAlignment = 64;

/// The offset in bytes of a slice whose elements are contiguous in its operand.
std::optional<std::int64_t> contiguous_offset(const Node& slice, const Type& from) {
  const auto& start = slice.attrs.ints(Attr::kStart);
  const auto& stride = slice.attrs.ints(Attr::kStride);
  const std::vector<std::int64_t> strides = from.shape.strides();
  if (slice.type.elements() == 0) return 0;  // its start may lie beyond the operand
  std::int64_t offset = 0;
  bool inside = false;  // a dimension further out has more than one element
  for (int i = 0; i < from.shape.rank(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    const std::int64_t size = slice.type.shape[i];
    if (size > 1 && stride[k] != 1) return std::nullopt;
    if (inside && size != from.shape[i]) return std::nullopt;
    inside = inside || size > 1;
    offset += start[k] * strides[k];
  }
  return offset * static_cast<std::int64_t>(size_of(from.dtype));
}

}  // namespace

BufferAliases::BufferAliases(const Graph& graph)
    : owner(graph.nodes.size()), offset(graph.nodes.size(), 0) {
  for (ValueId id = 0; id < graph.size(); ++id) {
    const auto at = static_cast<std::size_t>(id);
    const Node& node = graph[id];
    owner[at] = id;
    std::optional<std::int64_t> shift;
    if (node.op == Op::kReshape || node.op == Op::kOptimizationBarrier) shift = 0;
    if (node.op == Op::kSlice) shift = contiguous_offset(node, graph[node.operands[0]].type);
    if (!shift) continue;
    const auto from = static_cast<std::size_t>(node.operands[0]);
    if ((offset[from] + *shift) % kViewAlignment != 0) continue;
    owner[at] = owner[from];
    offset[at] = offset[from] + *shift;
  }
}

bool is_given(const Node& node) {
  return node.op == Op::kInput || node.op == Op::kConstant;
}

}  // namespace lockstep
