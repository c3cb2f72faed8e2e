#include "core/ir/op.h"

#include <array>

namespace lockstep {
namespace {

using enum OpClass;

// In the order of the enum. Transcendental flops are the usual polynomial lengths.
constexpr std::array<OpInfo, kOpCount> kOps = {{
    {Op::kInput, "input", kLeaf, 0, 0, false, 0},
    {Op::kConstant, "constant", kLeaf, 0, 0, false, 0},
    {Op::kIota, "iota", kLeaf, 0, 0, false, 0},
    {Op::kRandomBits, "random_bits", kLeaf, 3, 3, false, 15},
    {Op::kReplicaId, "replica_id", kLeaf, 0, 0, false, 0},
    {Op::kNegate, "negate", kUnary, 1, 1, false, 1},
    {Op::kAbs, "abs", kUnary, 1, 1, false, 1},
    {Op::kSign, "sign", kUnary, 1, 1, false, 1},
    {Op::kExp, "exp", kUnary, 1, 1, false, 10},
    {Op::kLog, "log", kUnary, 1, 1, false, 12},
    {Op::kTanh, "tanh", kUnary, 1, 1, false, 15},
    {Op::kErf, "erf", kUnary, 1, 1, false, 15},
    {Op::kSqrt, "sqrt", kUnary, 1, 1, false, 1},
    {Op::kRsqrt, "rsqrt", kUnary, 1, 1, false, 2},
    {Op::kSin, "sin", kUnary, 1, 1, false, 12},
    {Op::kCos, "cos", kUnary, 1, 1, false, 12},
    {Op::kFloor, "floor", kUnary, 1, 1, false, 1},
    {Op::kCeil, "ceil", kUnary, 1, 1, false, 1},
    {Op::kRoundEven, "round_even", kUnary, 1, 1, false, 1},
    {Op::kIsFinite, "is_finite", kUnary, 1, 1, false, 1},
    {Op::kNot, "not", kUnary, 1, 1, false, 1},
    {Op::kAdd, "add", kBinary, 2, 2, true, 1},
    {Op::kSubtract, "subtract", kBinary, 2, 2, false, 1},
    {Op::kMultiply, "multiply", kBinary, 2, 2, true, 1},
    {Op::kDivide, "divide", kBinary, 2, 2, false, 1},
    {Op::kRemainder, "remainder", kBinary, 2, 2, false, 3},
    {Op::kPower, "power", kBinary, 2, 2, false, 25},
    {Op::kMaximum, "maximum", kBinary, 2, 2, true, 1},
    {Op::kMinimum, "minimum", kBinary, 2, 2, true, 1},
    {Op::kAnd, "and", kBinary, 2, 2, true, 1},
    {Op::kOr, "or", kBinary, 2, 2, true, 1},
    {Op::kXor, "xor", kBinary, 2, 2, true, 1},
    {Op::kShiftLeft, "shift_left", kBinary, 2, 2, false, 1},
    {Op::kShiftRightLogical, "shift_right_logical", kBinary, 2, 2, false, 1},
    {Op::kEqual, "equal", kCompare, 2, 2, true, 1},
    {Op::kNotEqual, "not_equal", kCompare, 2, 2, true, 1},
    {Op::kLess, "less", kCompare, 2, 2, false, 1},
    {Op::kLessEqual, "less_equal", kCompare, 2, 2, false, 1},
    {Op::kGreater, "greater", kCompare, 2, 2, false, 1},
    {Op::kGreaterEqual, "greater_equal", kCompare, 2, 2, false, 1},
    {Op::kSelect, "select", kSelect, 3, 3, false, 1},
    {Op::kConvert, "convert", kConvert, 1, 1, false, 1},
    {Op::kBroadcast, "broadcast", kMovement, 1, 1, false, 0},
    {Op::kReshape, "reshape", kMovement, 1, 1, false, 0},
    {Op::kTranspose, "transpose", kMovement, 1, 1, false, 0},
    {Op::kSlice, "slice", kMovement, 1, 1, false, 0},
    {Op::kDynamicSlice, "dynamic_slice", kMovement, 1, -1, false, 0},
    {Op::kDynamicUpdateSlice, "dynamic_update_slice", kMovement, 2, -1, false, 0},
    {Op::kPad, "pad", kMovement, 2, 2, false, 0},
    {Op::kConcatenate, "concatenate", kMovement, 1, -1, false, 0},
    {Op::kGather, "gather", kMovement, 2, 2, false, 0},
    {Op::kScatterAdd, "scatter_add", kMovement, 3, 3, false, 1},
    {Op::kReduceSum, "reduce_sum", kReduction, 1, 1, false, 1},
    {Op::kReduceProduct, "reduce_product", kReduction, 1, 1, false, 1},
    {Op::kReduceMax, "reduce_max", kReduction, 1, 1, false, 1},
    {Op::kReduceMin, "reduce_min", kReduction, 1, 1, false, 1},
    {Op::kArgMax, "arg_max", kReduction, 1, 1, false, 1},
    {Op::kArgMin, "arg_min", kReduction, 1, 1, false, 1},
    {Op::kDotGeneral, "dot_general", kContraction, 2, 2, false, 0},
    {Op::kConvolution, "convolution", kContraction, 2, 2, false, 0},
    {Op::kConvolutionGradInput, "convolution_grad_input", kContraction, 2, 2, false, 0},
    {Op::kConvolutionGradWeight, "convolution_grad_weight", kContraction, 2, 2, false, 0},
    {Op::kMaxPool, "max_pool", kWindow, 1, 1, false, 0},
    {Op::kMaxPoolGrad, "max_pool_grad", kWindow, 2, 2, false, 0},
    {Op::kAvgPool, "avg_pool", kWindow, 1, 1, false, 0},
    {Op::kAvgPoolGrad, "avg_pool_grad", kWindow, 1, 1, false, 0},
    {Op::kAttention, "attention", kContraction, 1, 7, false, 0},
    {Op::kAttentionGrad, "attention_grad", kContraction, 3, 9, false, 0},
    {Op::kOptimizationBarrier, "optimization_barrier", kControl, 1, 1, false, 0},
    {Op::kCall, "call", kControl, 0, -1, false, 0},
    {Op::kFusion, "fusion", kControl, 0, -1, false, 0},
    {Op::kGroupResult, "group_result", kControl, 1, 1, false, 0},
    {Op::kHostCall, "host_call", kControl, 1, -1, false, 0},
    {Op::kAllReduce, "all_reduce", kCollective, 1, 1, false, 0},
    {Op::kReduceScatter, "reduce_scatter", kCollective, 1, 1, false, 0},
    {Op::kAllGather, "all_gather", kCollective, 1, 1, false, 0},
    {Op::kCollectiveBroadcast, "collective_broadcast", kCollective, 1, 1, false, 0},
}};

constexpr bool in_enum_order() {
  for (int i = 0; i < kOpCount; ++i)
    if (static_cast<int>(kOps[static_cast<std::size_t>(i)].op) != i) return false;
  return true;
}
static_assert(in_enum_order());

}  // namespace

const OpInfo& info_of(Op op) {
  return kOps[static_cast<std::size_t>(op)];
}

std::optional<Op> parse_op(std::string_view name) {
  for (const OpInfo& info : kOps)
    if (info.name == name) return info.op;
  return std::nullopt;
}

bool is_elementwise(Op op) {
  switch (info_of(op).op_class) {
    case kUnary:
    case kBinary:
    case kCompare:
    case OpClass::kSelect:
    case OpClass::kConvert: return true;
    case kLeaf:
    case kMovement:
    case kReduction:
    case kContraction:
    case kWindow:
    case kControl:
    case kCollective: return false;
  }
  __builtin_unreachable();
}

bool is_collective(Op op) {
  return info_of(op).op_class == kCollective;
}

}  // namespace lockstep
