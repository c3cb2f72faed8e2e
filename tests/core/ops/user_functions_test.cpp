// The functions of trace/ops.h record the op of their name.
#include <gtest/gtest.h>

#include "core/trace/ops.h"
#include "tests/core/ops/op_cases.h"

namespace lockstep {
namespace {

Tensor input(TraceContext& context, DType dtype) {
  return context.tensor(std::make_shared<HostScalar>(HostTensor(dtype, Shape{2})),
                        InputKind::kState, "x");
}

TEST(UserFunctions, RecordTheUnaryOpOfTheirName) {
  const std::pair<Op, Tensor (*)(const Tensor&, Where)> functions[] = {{Op::kAbs, abs},
                                                                       {Op::kSign, sign},
                                                                       {Op::kExp, exp},
                                                                       {Op::kLog, log},
                                                                       {Op::kTanh, tanh},
                                                                       {Op::kErf, erf},
                                                                       {Op::kSqrt, sqrt},
                                                                       {Op::kRsqrt, rsqrt},
                                                                       {Op::kSin, sin},
                                                                       {Op::kCos, cos},
                                                                       {Op::kFloor, floor},
                                                                       {Op::kCeil, ceil},
                                                                       {Op::kRoundEven, round_even},
                                                                       {Op::kIsFinite, is_finite}};
  for (const auto& [op, function] : functions) {
    TraceContext context;
    const Tensor out = function(input(context, DType::kF32), Where::current());
    EXPECT_EQ(name_of(context.pending()[context.node_of(out)].op), name_of(op));
  }
}

TEST(UserFunctions, RecordTheLogicalOpOfTheirName) {
  TraceContext context;
  const Tensor a = input(context, DType::kBool);
  const Tensor b = input(context, DType::kBool);
  const auto op = [&](const Tensor& out) {
    return name_of(context.pending()[context.node_of(out)].op);
  };
  EXPECT_EQ(op(logical_and(a, b)), "and");
  EXPECT_EQ(op(logical_or(a, b)), "or");
  EXPECT_EQ(op(logical_xor(a, b)), "xor");
  EXPECT_EQ(op(logical_not(a)), "not");
}

}  // namespace
}  // namespace lockstep
