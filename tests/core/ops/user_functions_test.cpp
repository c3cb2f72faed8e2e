// Every elementwise op has a function in trace/ops.h.
#include <gtest/gtest.h>

#include "core/trace/context.h"
#include "core/trace/elementwise.h"
#include "core/trace/ops.h"
#include "tests/core/ops/cases/op_cases.h"

namespace lockstep {
namespace {

Tensor apply_unary(UnaryOp op, const Tensor& x) {
  switch (op) {
    case Op::kNegate: return -x;
    case Op::kAbs: return abs(x);
    case Op::kSign: return sign(x);
    case Op::kExp: return exp(x);
    case Op::kLog: return log(x);
    case Op::kTanh: return tanh(x);
    case Op::kErf: return erf(x);
    case Op::kSqrt: return sqrt(x);
    case Op::kRsqrt: return rsqrt(x);
    case Op::kSin: return sin(x);
    case Op::kCos: return cos(x);
    case Op::kFloor: return floor(x);
    case Op::kCeil: return ceil(x);
    case Op::kRoundEven: return round_even(x);
    case Op::kIsFinite: return is_finite(x);
    case Op::kNot: return logical_not(x);
  }
  __builtin_unreachable();
}

Tensor apply_binary(BinaryOp op, const Tensor& x, const Tensor& y) {
  switch (op) {
    case Op::kAdd: return x + y;
    case Op::kSubtract: return x - y;
    case Op::kMultiply: return x * y;
    case Op::kDivide: return x / y;
    case Op::kRemainder: return remainder(x, y);
    case Op::kPower: return power(x, y);
    case Op::kMaximum: return maximum(x, y);
    case Op::kMinimum: return minimum(x, y);
    case Op::kAnd: return logical_and(x, y);
    case Op::kOr: return logical_or(x, y);
    case Op::kXor: return logical_xor(x, y);
    case Op::kShiftLeft:
    case Op::kShiftRightLogical: return binary(op, x, y);  // no function of their own
  }
  __builtin_unreachable();
}

/// A dtype that the op takes.
DType accepted(const OpInfo& info) {
  switch (info.accepts) {
    case Accepts::kAny:
    case Accepts::kNumbers:
    case Accepts::kFloats:
    case Accepts::kSummable: return DType::kF32;
    case Accepts::kIntegers: return DType::kI32;
    case Accepts::kBits: return DType::kBool;
  }
  __builtin_unreachable();
}

TEST(UserFunctions, RecordTheOpOfTheirName) {
  for (const OpInfo& info : op_table()) {
    if (info.op_class != OpClass::kUnary && info.op_class != OpClass::kBinary) continue;
    TraceContext context;
    const auto input = [&] {
      return context.tensor(std::make_shared<HostScalar>(HostTensor(accepted(info), Shape{2})),
                            InputKind::kState, "x");
    };
    const Tensor out = info.op_class == OpClass::kUnary
                           ? apply_unary(as<UnaryOp>(info.op), input())
                           : apply_binary(as<BinaryOp>(info.op), input(), input());
    const Node& node = context.pending()[context.node_of(out)];
    EXPECT_EQ(name_of(node.op), info.name);
    EXPECT_EQ(node.operands.size(), static_cast<std::size_t>(info.min_operands));
  }
}

}  // namespace
}  // namespace lockstep
