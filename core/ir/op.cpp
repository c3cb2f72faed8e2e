#include "core/ir/op.h"

#include <array>

#include "core/base/error.h"

namespace lockstep {
namespace {

using enum Accepts;
using enum Gives;
using enum Gradient;
using enum Attr;

struct OperandCount {
  int min;
  int max;  ///< -1: any number
};
enum Commutes : bool { kCommutes = true };

constexpr std::string_view shapes_of(UnaryOp) {
  return "[...] -> [...]";
}
constexpr std::string_view shapes_of(BinaryOp) {
  return "[...], [...] -> [...]";
}
constexpr std::string_view shapes_of(CompareOp) {
  return "[...], [...] -> [...]";
}

template <OpsOfClass E>
constexpr OpInfo row(E op, std::string_view name, std::string_view shapes, OperandCount operands,
                     Accepts accepts, Gives gives, Gradient gradient, double flops_per_element,
                     AttrSet required = {}, AttrSet optional = {}) {
  return {op,       class_of(op),      name,  shapes,   operands.min, operands.max, accepts, gives,
          gradient, flops_per_element, false, required, optional};
}
// Ops of these classes have one rule.
template <OpsOfClass E>
constexpr OpInfo row(E op, std::string_view name, OperandCount operands, Accepts accepts,
                     Gives gives, Gradient gradient, double flops_per_element) {
  return row(op, name, shapes_of(op), operands, accepts, gives, gradient, flops_per_element);
}
template <OpsOfClass E>
constexpr OpInfo row(E op, std::string_view name, OperandCount operands, Accepts accepts,
                     Gives gives, Gradient gradient, double flops_per_element, Commutes) {
  OpInfo out = row(op, name, operands, accepts, gives, gradient, flops_per_element);
  out.commutative = true;
  return out;
}

// In the order of op_set.h. Transcendental flops are the usual polynomial lengths.
constexpr std::array<OpInfo, kOpCount> kOps = {{
    row(Op::kInput, "input", "-> stated by the node", {0, 0}, kAny, kNode, kNothing, 0),
    row(Op::kConstant, "constant", "-> stated by the node", {0, 0}, kAny, kNode, kNothing, 0),
    row(Op::kIota, "iota", "-> [a,b] {shape=[a,b], axis=1}", {0, 0}, kAny, kStated, kNothing, 0,
        {kShape, kAxis, kTo}),
    row(Op::kRandomBits, "random_bits", "i64[], i64[], i64[] -> [a,b] {shape=[a,b]}", {3, 3}, kAny,
        kI32, kNothing, 15, {kShape, kStream}),
    row(Op::kReplicaId, "replica_id", "-> []", {0, 0}, kAny, kI32, kNothing, 0),
    row(Op::kNegate, "negate", {1, 1}, kNumbers, kFirst, kRule, 1),
    row(Op::kAbs, "abs", {1, 1}, kNumbers, kFirst, kRule, 1),
    row(Op::kSign, "sign", {1, 1}, kNumbers, kFirst, kNothing, 1),
    row(Op::kExp, "exp", {1, 1}, kFloats, kFirst, kRule, 10),
    row(Op::kLog, "log", {1, 1}, kFloats, kFirst, kRule, 12),
    row(Op::kTanh, "tanh", {1, 1}, kFloats, kFirst, kRule, 15),
    row(Op::kErf, "erf", {1, 1}, kFloats, kFirst, kRule, 15),
    row(Op::kSqrt, "sqrt", {1, 1}, kFloats, kFirst, kRule, 1),
    row(Op::kRsqrt, "rsqrt", {1, 1}, kFloats, kFirst, kRule, 2),
    row(Op::kSin, "sin", {1, 1}, kFloats, kFirst, kRule, 12),
    row(Op::kCos, "cos", {1, 1}, kFloats, kFirst, kRule, 12),
    row(Op::kFloor, "floor", {1, 1}, kFloats, kFirst, kNothing, 1),
    row(Op::kCeil, "ceil", {1, 1}, kFloats, kFirst, kNothing, 1),
    row(Op::kRoundEven, "round_even", {1, 1}, kFloats, kFirst, kNothing, 1),
    row(Op::kIsFinite, "is_finite", {1, 1}, kFloats, kBool, kNothing, 1),
    row(Op::kNot, "not", {1, 1}, kBits, kFirst, kNothing, 1),
    row(Op::kAdd, "add", {2, 2}, kNumbers, kFirst, kRule, 1, kCommutes),
    row(Op::kSubtract, "subtract", {2, 2}, kNumbers, kFirst, kRule, 1),
    row(Op::kMultiply, "multiply", {2, 2}, kNumbers, kFirst, kRule, 1, kCommutes),
    row(Op::kDivide, "divide", {2, 2}, kNumbers, kFirst, kRule, 1),
    row(Op::kRemainder, "remainder", {2, 2}, kNumbers, kFirst, kRule, 3),
    row(Op::kPower, "power", {2, 2}, kFloats, kFirst, kRule, 25),
    row(Op::kMaximum, "maximum", {2, 2}, kNumbers, kFirst, kRule, 1, kCommutes),
    row(Op::kMinimum, "minimum", {2, 2}, kNumbers, kFirst, kRule, 1, kCommutes),
    row(Op::kAnd, "and", {2, 2}, kBits, kFirst, kNothing, 1, kCommutes),
    row(Op::kOr, "or", {2, 2}, kBits, kFirst, kNothing, 1, kCommutes),
    row(Op::kXor, "xor", {2, 2}, kBits, kFirst, kNothing, 1, kCommutes),
    row(Op::kShiftLeft, "shift_left", {2, 2}, kIntegers, kFirst, kNothing, 1),
    row(Op::kShiftRightLogical, "shift_right_logical", {2, 2}, kIntegers, kFirst, kNothing, 1),
    row(Op::kEqual, "equal", {2, 2}, kAny, kBool, kNothing, 1, kCommutes),
    row(Op::kNotEqual, "not_equal", {2, 2}, kAny, kBool, kNothing, 1, kCommutes),
    row(Op::kLess, "less", {2, 2}, kAny, kBool, kNothing, 1),
    row(Op::kLessEqual, "less_equal", {2, 2}, kAny, kBool, kNothing, 1),
    row(Op::kGreater, "greater", {2, 2}, kAny, kBool, kNothing, 1),
    row(Op::kGreaterEqual, "greater_equal", {2, 2}, kAny, kBool, kNothing, 1),
    row(Op::kSelect, "select", "bool[...], [...], [...] -> [...]", {3, 3}, kAny, kSecond, kRule, 1),
    row(Op::kConvert, "convert", "[...] -> [...]", {1, 1}, kAny, kStated, kRule, 1, {kTo}),
    row(Op::kBroadcast, "broadcast", "[a,1] -> [b,a,c] {shape=[b,a,c], dims=[1,2]}", {1, 1}, kAny,
        kFirst, kRule, 0, {kShape, kDims}),
    row(Op::kReshape, "reshape", "[a,b] -> [a*b] {shape=[a*b]}", {1, 1}, kAny, kFirst, kRule, 0,
        {kShape}),
    row(Op::kTranspose, "transpose", "[a,b,c] -> [c,a,b] {dims=[2,0,1]}", {1, 1}, kAny, kFirst,
        kRule, 0, {kDims}),
    row(Op::kSlice, "slice", "[a] -> [n] {start=[s], limit=[s+n*t], stride=[t]}", {1, 1}, kAny,
        kFirst, kRule, 0, {kStart, kLimit, kStride}),
    row(Op::kDynamicSlice, "dynamic_slice", "[a,b], i64[], i64[] -> [c,d] {shape=[c,d]}", {1, -1},
        kAny, kFirst, kRule, 0, {kShape}),
    row(Op::kDynamicUpdateSlice, "dynamic_update_slice", "[a,b], [c,d], i64[], i64[] -> [a,b]",
        {2, -1}, kAny, kFirst, kRule, 0),
    row(Op::kPad, "pad", "[a,b], [] -> [l+a+h,m+b+i] {low=[l,m], high=[h,i]}", {2, 2}, kAny, kFirst,
        kRule, 0, {kLow, kHigh}),
    row(Op::kConcatenate, "concatenate", "[a,b], [a,c] -> [a,b+c] {axis=1}", {1, -1}, kAny, kFirst,
        kRule, 0, {kAxis}),
    row(Op::kGather, "gather", "[a,b,c], i32[d,e] -> [a,d,e,c] {axis=1}", {2, 2}, kAny, kFirst,
        kRule, 0, {kAxis}),
    row(Op::kScatterAdd, "scatter_add", "[a,b,c], i32[d,e], [a,d,e,c] -> [a,b,c] {axis=1}", {3, 3},
        kNumbers, kFirst, kRule, 1, {kAxis}),
    row(Op::kReduceSum, "reduce_sum", "[a,b,c] -> [a,c] {dims=[1]}", {1, 1}, kNumbers, kFirst,
        kRule, 1, {kDims}),
    row(Op::kReduceProduct, "reduce_product", "[a,b,c] -> [a,c] {dims=[1]}", {1, 1}, kNumbers,
        kFirst, kRule, 1, {kDims}),
    row(Op::kReduceMax, "reduce_max", "[a,b,c] -> [a,c] {dims=[1]}", {1, 1}, kNumbers, kFirst,
        kRule, 1, {kDims}),
    row(Op::kReduceMin, "reduce_min", "[a,b,c] -> [a,c] {dims=[1]}", {1, 1}, kNumbers, kFirst,
        kRule, 1, {kDims}),
    row(Op::kArgMax, "arg_max", "[a,b,c] -> [a,c] {axis=1}", {1, 1}, kNumbers, kI32, kNothing, 1,
        {kAxis}),
    row(Op::kArgMin, "arg_min", "[a,b,c] -> [a,c] {axis=1}", {1, 1}, kNumbers, kI32, kNothing, 1,
        {kAxis}),
    row(Op::kDotGeneral, "dot_general",
        "[b,m,k], [b,k,n] -> [b,m,n] {lhs_batch=[0], rhs_batch=[0], lhs_contract=[2], "
        "rhs_contract=[1]}",
        {2, 2}, kNumbers, kStated, kRule, 0, {kLhsBatch, kRhsBatch, kLhsContract, kRhsContract},
        {kTo}),
    row(Op::kConvolution, "convolution", "[N,G*C,H,W], [G*O,C,KH,KW] -> [N,G*O,OH,OW] {groups=G}",
        {2, 2}, kFloats, kStated, kRule, 0, {kStride, kPadding, kDilation, kGroups},
        {kTo, kChannelsLast}),
    row(Op::kConvolutionGradInput, "convolution_grad_input",
        "[N,G*O,OH,OW], [G*O,C,KH,KW] -> [N,G*C,H,W] {shape=[N,G*C,H,W], groups=G}", {2, 2},
        kFloats, kStated, kRule, 0, {kShape, kStride, kPadding, kDilation, kGroups},
        {kTo, kChannelsLast}),
    row(Op::kConvolutionGradWeight, "convolution_grad_weight",
        "[N,G*C,H,W], [N,G*O,OH,OW] -> [G*O,C,KH,KW] {shape=[G*O,C,KH,KW], groups=G}", {2, 2},
        kFloats, kStated, kRule, 0, {kShape, kStride, kPadding, kDilation, kGroups},
        {kTo, kChannelsLast}),
    row(Op::kMaxPool, "max_pool", "[N,C,H,W] -> [N,C,OH,OW] {window=[KH,KW]}", {1, 1}, kFloats,
        kFirst, kRule, 0, {kWindow, kStride, kPadding}, {kChannelsLast}),
    row(Op::kMaxPoolGrad, "max_pool_grad", "[N,C,H,W], [N,C,OH,OW] -> [N,C,H,W] {window=[KH,KW]}",
        {2, 2}, kFloats, kFirst, kMissing, 0, {kWindow, kStride, kPadding}, {kChannelsLast}),
    row(Op::kAvgPool, "avg_pool", "[N,C,H,W] -> [N,C,OH,OW] {window=[KH,KW]}", {1, 1}, kFloats,
        kFirst, kRule, 0, {kWindow, kStride, kPadding}, {kChannelsLast}),
    row(Op::kAvgPoolGrad, "avg_pool_grad",
        "[N,C,OH,OW] -> [N,C,H,W] {shape=[N,C,H,W], window=[KH,KW]}", {1, 1}, kFloats, kFirst,
        kRule, 0, {kShape, kWindow, kStride, kPadding}, {kChannelsLast}),
    row(Op::kAttention, "attention", "[B,Q,G*R,D], [B,K,G,D], [B,K,G,D] -> [B,Q,G*R,D]", {1, 7},
        kFloats, kFirst, kRule, 0, {kScale, kDropout}, {kCausal, kMasked, kStream}),
    row(Op::kAttentionGrad, "attention_grad",
        "[B,Q,G*R,D], [B,K,G,D], [B,K,G,D], [B,Q,G*R,D], [B,Q,G*R,D] -> [B*Q*G*R*D+2*B*K*G*D]",
        {3, 9}, kFloats, kFirst, kMissing, 0, {kScale, kDropout}, {kCausal, kMasked, kStream}),
    row(Op::kOptimizationBarrier, "optimization_barrier", "[...] -> [...]", {1, 2}, kAny, kFirst,
        kRule, 0),
    row(Op::kCall, "call", "-> stated by the node", {0, -1}, kAny, kNode, kRule, 0),
    row(Op::kFusion, "fusion", "-> stated by the node", {0, -1}, kAny, kNode, kMissing, 0,
        {kShape, kAxis}),
    row(Op::kGroupResult, "group_result", "-> stated by the node", {1, 1}, kAny, kNode, kMissing, 0,
        {kIndex}),
    row(Op::kHostCall, "host_call", "-> the first of results", {1, -1}, kAny, kListed, kMissing, 0,
        {kFunction, kVersion, kResults}),
    row(Op::kAllReduce, "all_reduce", "[...] -> [...]", {1, 1}, kSummable, kFirst, kMissing, 0),
    row(Op::kReduceScatter, "reduce_scatter", "[r*a,b] -> [a,b] {ranks=r}", {1, 1}, kSummable,
        kFirst, kMissing, 0, {kRanks}),
    row(Op::kAllGather, "all_gather", "[a,b] -> [r*a,b] {ranks=r}", {1, 1}, kAny, kFirst, kMissing,
        0, {kRanks}),
    row(Op::kCollectiveBroadcast, "collective_broadcast", "[...] -> [...]", {1, 1}, kAny, kFirst,
        kMissing, 0, {kRoot}),
}};

constexpr bool in_order() {
  for (int i = 0; i < kOpCount; ++i)
    if (kOps[static_cast<std::size_t>(i)].op.number() != i) return false;
  return true;
}
static_assert(in_order());

}  // namespace

std::string_view name_of(OpClass op_class) {
  switch (op_class) {
    case OpClass::kLeaf: return "leaf";
    case OpClass::kUnary: return "unary";
    case OpClass::kBinary: return "binary";
    case OpClass::kCompare: return "compare";
    case OpClass::kSelect: return "select";
    case OpClass::kConvert: return "convert";
    case OpClass::kMovement: return "movement";
    case OpClass::kReduction: return "reduction";
    case OpClass::kContraction: return "contraction";
    case OpClass::kWindow: return "window";
    case OpClass::kAttention: return "attention";
    case OpClass::kControl: return "control";
    case OpClass::kCollective: return "collective";
  }
  __builtin_unreachable();
}

std::string_view name_of(Accepts accepts) {
  switch (accepts) {
    case Accepts::kAny: return "any";
    case Accepts::kNumbers: return "numbers";
    case Accepts::kFloats: return "floats";
    case Accepts::kIntegers: return "integers";
    case Accepts::kBits: return "bool, integers";
    case Accepts::kSummable: return "f32, f64, i32, i64";
  }
  __builtin_unreachable();
}

std::string_view name_of(Gives gives) {
  switch (gives) {
    case Gives::kFirst: return "the first operand's";
    case Gives::kSecond: return "the second operand's";
    case Gives::kBool: return "bool";
    case Gives::kI32: return "i32";
    case Gives::kStated: return "`to`, else the first operand's";
    case Gives::kListed: return "the first of `results`";
    case Gives::kNode: return "stated by the node";
  }
  __builtin_unreachable();
}

std::string_view name_of(Gradient gradient) {
  switch (gradient) {
    case Gradient::kRule: return "rule";
    case Gradient::kNothing: return "zero";
    case Gradient::kMissing: return "none";
  }
  __builtin_unreachable();
}

std::span<const OpInfo> op_table() {
  return kOps;
}

const OpInfo& info_of(Op op) {
  return kOps[static_cast<std::size_t>(op.number())];
}

void check_class(Op op, OpClass wanted) {
  LS_CHECK(info_of(op).op_class == wanted, "{} is of another class of ops", name_of(op));
}

std::optional<Op> parse_op(std::string_view name) {
  for (const OpInfo& info : kOps)
    if (info.name == name) return info.op;
  return std::nullopt;
}

bool is_elementwise(Op op) {
  switch (info_of(op).op_class) {
    case OpClass::kUnary:
    case OpClass::kBinary:
    case OpClass::kCompare:
    case OpClass::kSelect:
    case OpClass::kConvert: return true;
    case OpClass::kLeaf:
    case OpClass::kMovement:
    case OpClass::kReduction:
    case OpClass::kContraction:
    case OpClass::kWindow:
    case OpClass::kAttention:
    case OpClass::kControl:
    case OpClass::kCollective: return false;
  }
  __builtin_unreachable();
}

bool is_collective(Op op) {
  return info_of(op).op_class == OpClass::kCollective;
}

bool is_arg_reduction(Op op) {
  return op == Op::kArgMax || op == Op::kArgMin;
}

}  // namespace lockstep
