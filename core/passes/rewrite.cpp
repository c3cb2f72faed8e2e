#include "core/passes/rewrite.h"

#include <utility>

#include "core/ir/infer.h"
#include "core/passes/dce.h"

namespace lockstep {

Rewriter::Rewriter(const Graph& from) : from_(from), now_(from.nodes.size(), kNoValue) {
  out_.strings = from.strings;
  out_.nodes.reserve(from.nodes.size());
}

Node Rewriter::moved(ValueId old) const {
  Node node = from_[old];
  for (ValueId& operand : node.operands) operand = now(operand);
  return node;
}

ValueId Rewriter::copy(ValueId old) {
  const ValueId id = out_.append(moved(old));
  set(old, id);
  return id;
}

Graph Rewriter::finish() {
  out_.inputs.clear();
  for (const ValueId input : from_.inputs) out_.inputs.push_back(now(input));
  for (const ValueId output : from_.outputs) out_.outputs.push_back(now(output));
  out_.updates = from_.updates;
  return std::move(out_);
}

ValueId Builder::emit(Node node) {
  for (const Rule rule : rules_) {
    const ValueId replacement = rule(*this, node);
    if (replacement != kNoValue) return replacement;
  }
  return graph_.append(std::move(node));
}

ValueId Builder::emit(Op op, ArrayRef<ValueId> operands, Attrs attrs, const Origin& origin) {
  std::vector<Type> types;
  types.reserve(operands.size());
  for (const ValueId operand : operands) types.push_back(type(operand));
  Node node;
  node.op = op;
  node.type = infer_type(op, types, attrs);
  node.operands.assign(operands.begin(), operands.end());
  node.attrs = std::move(attrs);
  node.origin = origin;
  return emit(std::move(node));
}

ValueId Builder::emit_constant(HostTensor literal, const Origin& origin) {
  Node node;
  node.op = Op::kConstant;
  node.type = {literal.dtype(), literal.shape()};
  node.literal = std::move(literal);
  node.origin = origin;
  return emit(std::move(node));
}

ValueId Builder::emit_splat(ValueId scalar, const Shape& shape, const Origin& origin) {
  if (shape.rank() == 0) return scalar;
  return emit(Op::kBroadcast, {scalar}, {{Attr::kShape, shape.sizes()}, {Attr::kDims, {}}}, origin);
}

Graph apply_rules(const Graph& from, std::span<const Rule> rules) {
  Rewriter rewriter(from);
  Builder builder(rewriter.out(), rules);
  for (ValueId id = 0; id < from.size(); ++id) rewriter.set(id, builder.emit(rewriter.moved(id)));
  return drop_dead(rewriter.finish());
}

ValueId splat_source(const Builder& builder, ValueId id) {
  if (builder[id].op == Op::kBroadcast) id = builder[id].operands[0];
  const Node& node = builder[id];
  return node.op == Op::kConstant && node.type.shape.rank() == 0 ? id : kNoValue;
}

}  // namespace lockstep
