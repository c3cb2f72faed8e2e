#include "core/passes/fold.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "core/passes/fold_elementwise.h"
#include "core/passes/rewrite.h"

namespace lockstep {
namespace {

/// The literals of all operands, if all are constants.
std::optional<std::vector<HostTensor>> constant_operands(const Builder& b, const Node& node) {
  std::vector<HostTensor> out;
  for (const ValueId operand : node.operands) {
    if (b[operand].op != Op::kConstant) return std::nullopt;
    out.push_back(b[operand].literal);
  }
  return out;
}

ValueId fold_constants(Builder& b, const Node& node) {
  if (!is_elementwise(node.op) || node.type.elements() > kMaxFoldedElements) return kNoValue;
  const auto literals = constant_operands(b, node);
  if (!literals) return kNoValue;
  std::optional<HostTensor> value = fold_elementwise(node, *literals);
  return value ? b.emit_constant(std::move(*value), node.origin) : kNoValue;
}

/// op(broadcast(c1), broadcast(c2)) -> broadcast(op(c1, c2)).
ValueId fold_splats(Builder& b, const Node& node) {
  if (!is_elementwise(node.op) || node.type.shape.rank() == 0) return kNoValue;
  std::vector<HostTensor> literals;
  for (const ValueId operand : node.operands) {
    const ValueId source = splat_source(b, operand);
    if (source == kNoValue) return kNoValue;
    literals.push_back(b[source].literal);
  }
  std::optional<HostTensor> value = fold_elementwise(node, literals);
  if (!value) return kNoValue;
  const ValueId scalar = b.emit_constant(std::move(*value), node.origin);
  return b.emit_splat(scalar, node.type.shape, node.origin);
}

/// A constant whose elements all have the same bits -> broadcast of a scalar.
ValueId fold_repeated_element(Builder& b, const Node& node) {
  if (node.op != Op::kConstant || node.type.shape.rank() == 0) return kNoValue;
  const auto bytes = node.literal.bytes();
  const std::size_t size = size_of(node.type.dtype);
  if (bytes.size() < size) return kNoValue;
  // Every byte equals the byte one element before it.
  if (!std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(size), bytes.end(), bytes.begin()))
    return kNoValue;
  HostTensor element(node.type.dtype, Shape{});
  std::memcpy(element.bytes().data(), bytes.data(), size);
  return b.emit_splat(b.emit_constant(std::move(element), node.origin), node.type.shape,
                      node.origin);
}

/// reshape(constant) -> the constant in the new shape.
ValueId fold_reshape(Builder& b, const Node& node) {
  if (node.op != Op::kReshape || node.type.elements() > kMaxFoldedElements) return kNoValue;
  const Node& from = b[node.operands[0]];
  if (from.op != Op::kConstant) return kNoValue;
  HostTensor literal(node.type.dtype, node.type.shape);
  std::memcpy(literal.bytes().data(), from.literal.bytes().data(), literal.bytes().size());
  return b.emit_constant(std::move(literal), node.origin);
}

constexpr std::array<Rule, 4> kFoldRules = {fold_repeated_element, fold_constants, fold_splats,
                                            fold_reshape};

}  // namespace

Graph fold(Graph graph, const Target& target) {
  (void)target;
  return apply_rules(graph, kFoldRules);
}

}  // namespace lockstep
