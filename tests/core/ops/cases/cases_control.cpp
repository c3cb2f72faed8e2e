#include <memory>

#include "tests/core/ops/cases/case_makers.h"
#include "tests/fixtures/host_functions.h"

namespace lockstep {
namespace {

/// A body whose inputs have the type `type`: each of `steps` nodes takes values made before it; the
/// last one is the output.
std::shared_ptr<const Graph> draw_body(Draw& draw, const Type& type, int inputs, int steps,
                                       const std::vector<Op>& ops) {
  auto body = std::make_shared<Graph>();
  for (int i = 0; i < inputs; ++i) body->add_input(type, InputKind::kState, "x");
  ValueId last = 0;
  for (int i = 0; i < steps; ++i) {
    const Op op = draw.pick(ops);
    std::vector<ValueId> operands;
    for (int k = 0; k < info_of(op).min_operands; ++k)
      operands.push_back(static_cast<ValueId>(draw.integer(0, body->size() - 1)));
    if (i > 0) operands[0] = last;  // a chain, so that every step matters
    last = body->add(op, operands);
  }
  body->outputs = {last};
  return body;
}

}  // namespace

OpCase make_identity(Op op, Draw& draw) {
  const bool is_sum = op == Op::kAllReduce || op == Op::kReduceScatter;
  const DType dtype =
      draw.dtype(is_sum ? std::vector{DType::kF32, DType::kI32, DType::kI64} : kAllDTypes);
  const bool divides = op == Op::kReduceScatter || op == Op::kAllGather;
  OpCase c{op, {}, {draw.tensor(dtype, draw.shape(divides ? 1 : 0, 4))}, nullptr};
  if (divides) c.attrs.set_int(Attr::kRanks, 1);
  if (op == Op::kCollectiveBroadcast) c.attrs.set_int(Attr::kRoot, 0);
  return c;
}

OpCase make_replica_id(Op op, Draw&) {
  return {op, {}, {}, nullptr};
}

OpCase make_call(Op op, Draw& draw) {
  static const std::vector<Op> kSmooth = {Op::kAdd, Op::kSubtract, Op::kMultiply, Op::kTanh,
                                          Op::kSin};
  const Type type{draw.dtype({DType::kF32}), draw.shape()};
  OpCase c{op, {}, {}, draw_body(draw, type, 2, 5, kSmooth)};
  for (int i = 0; i < 2; ++i)
    c.operands.push_back(draw.tensor(type.dtype, type.shape, Fill::kUnit));
  return c;
}

OpCase make_host_call(Op op, Draw& draw) {
  const Type type{draw.dtype(kAllDTypes), draw.shape()};
  return {op, reverse_attrs({type}), {draw.tensor(type.dtype, type.shape)}, nullptr};
}

OpCase make_fusion(Op op, Draw& draw) {
  static const std::vector<Op> kExactlyRounded = {
      Op::kAdd,    Op::kSubtract, Op::kMultiply, Op::kMaximum, Op::kMinimum,
      Op::kNegate, Op::kAbs,      Op::kFloor,    Op::kSqrt,    Op::kDivide};
  const Type type{draw.dtype({DType::kF32}), draw.shape()};
  const Attrs domain{{Attr::kShape, type.shape.sizes()}, {Attr::kAxis, {type.shape.rank()}}};
  OpCase c{op, domain, {}, draw_body(draw, type, 3, 6, kExactlyRounded)};
  for (int i = 0; i < 3; ++i)
    c.operands.push_back(draw.tensor(type.dtype, type.shape, Fill::kUnit));
  return c;
}

}  // namespace lockstep
