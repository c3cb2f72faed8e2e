// The op set: small and close to HLO. Facts about an op live in one table (op.cpp); code asks for
// an op's class or facts, not for lists of names. What each op computes is said here; its result
// type is in infer.cpp, its executable meaning in kernels/reference.
//
// Elementwise ops take operands of one dtype and one shape: broadcasting and converting are ops of
// their own. Attributes are written in braces, see attrs.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/api.h"

namespace LOCKSTEP_API lockstep {

enum class Op : std::uint8_t {
  // Leaves.
  kInput,       ///< a value given at execution; Graph::inputs says which
  kConstant,    ///< Node::literal; part of the structure
  kIota,        ///< {shape, axis, to}: the index along axis
  kRandomBits,  ///< (seed i64[], step i64[], shard i64[]) {shape, stream} -> i32: element i is
                ///< Philox
                ///< word i (base/rng.h), as bits
  kReplicaId,   ///< i32[]: this rank

  // Elementwise, one operand. Floats unless said otherwise.
  kNegate,  ///< numbers; integers wrap
  kAbs,     ///< numbers
  kSign,    ///< numbers: -1, 0, 1; 0 for 0, NaN for NaN
  kExp,
  kLog,
  kTanh,
  kErf,
  kSqrt,
  kRsqrt,  ///< 1 / sqrt(x)
  kSin,
  kCos,
  kFloor,
  kCeil,
  kRoundEven,  ///< to the nearest integer, ties to even
  kIsFinite,   ///< -> bool
  kNot,        ///< bool: logical; integers: bitwise

  // Elementwise, two operands.
  kAdd,  ///< integers wrap
  kSubtract,
  kMultiply,
  kDivide,     ///< integers truncate; x / 0 = -1, min / -1 = min
  kRemainder,  ///< sign of the dividend; integers: x % 0 = x
  kPower,      ///< floats
  kMaximum,    ///< NaN if either is NaN
  kMinimum,
  kAnd,  ///< bool and integers
  kOr,
  kXor,
  kShiftLeft,          ///< integers; a shift by the width or more, or a negative one, gives 0
  kShiftRightLogical,  ///< integers, zeros come in; likewise

  // Compare (numbers and bool -> bool; comparisons with NaN are false but for kNotEqual), select.
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kSelect,   ///< (pred bool, a, b): pred ? a : b; all three of one shape
  kConvert,  ///< {to}: float -> integer truncates and saturates (NaN -> 0); x -> bool is x != 0

  // Data movement.
  kBroadcast,  ///< {shape, dims}: operand dimension i becomes result dimension dims[i], increasing;
               ///< a size-1 operand dimension is repeated, the others match
  kReshape,    ///< {shape}: the same elements in row-major order
  kTranspose,  ///< {dims}: result dimension i is operand dimension dims[i]
  kSlice,      ///< {start, limit, stride}
  kDynamicSlice,        ///< (x, i64[] per dimension) {shape}: starts are clamped to fit
  kDynamicUpdateSlice,  ///< (x, update, i64[] per dimension): x with update written; starts clamped
  kPad,  ///< (x, value []) {low, high}: non-negative numbers of values around each dimension
  kConcatenate,  ///< (x...) {axis}
  kGather,       ///< (x, indices i32|i64) {axis}: x taken along axis; result shape is x's with the
                 ///< axis replaced by the indices' shape; indices are clamped to the valid range
  kScatterAdd,   ///< (x, indices, updates) {axis}: x plus updates at the indices, the inverse shape
                 ///< of
                 ///< gather; duplicates are added in ascending order of their position; clamped

  // Reductions; {dims} are removed. Sums of bf16 and f16 accumulate in f32 and round once.
  kReduceSum,
  kReduceProduct,
  kReduceMax,  ///< of nothing: -infinity or the lowest integer
  kReduceMin,
  kArgMax,  ///< {axis} -> i32, the first of equals; NaN counts as largest
  kArgMin,  ///< {axis} -> i32, the first of equals; NaN counts as smallest

  // Contractions; f32 accumulation for 16-bit operands.
  kDotGeneral,  ///< (a, b) {lhs_batch, rhs_batch, lhs_contract, rhs_contract, [to]}: result
                ///< dimensions
  ///< are batch, a's free, b's free; `to` is the result dtype, the operands' if absent
  // x is [N,C,H,W], w is [O,C/groups,KH,KW], y is [N,O,OH,OW];
  // {stride[2], padding[top,bottom,left,right], dilation[2], groups}
  kConvolution,            ///< (x, w) -> y
  kConvolutionGradInput,   ///< (dy, w) {.., shape of x} -> dx
  kConvolutionGradWeight,  ///< (x, dy) {.., shape of w} -> dw
  // {window[2], stride[2], padding[4]}, padding smaller than the window
  kMaxPool,      ///< (x) padding counts as -infinity
  kMaxPoolGrad,  ///< (x, dy) -> dx: each dy goes to the first maximum of its window
  kAvgPool,      ///< (x): padding counts as zero, the divisor is always the window's size
  kAvgPoolGrad,  ///< (dy) {.., shape of x} -> dx
  // q [B,Tq,H,D], k and v [B,Tk,H,D], or one qkv [B,T,3,H,D]; {causal, scale, dropout, masked};
  // softmax(scale * q k^T) v over the keys that are visible: key_mask bool[B,Tk] if `masked`; with
  // `causal` query i sees keys j <= i + Tk - Tq; a query that sees none gives 0. If dropout > 0,
  // weight ((b*H+h)*Tq+i)*Tk+j is dropped where uniform(word) < dropout, else scaled 1/(1-dropout).
  kAttention,      ///< (q, k, v | qkv, [key_mask], [seed, step, shard] {stream}) -> [B,Tq,H,D]
  kAttentionGrad,  ///< (q, k, v | qkv, out, dout, [key_mask], [seed, step, shard]) -> dq, dk, dv,
                   ///< each flattened, in one f[q + k + v elements]; of qkv: its shape

  // Control of the compiler.
  kOptimizationBarrier,  ///< identity that no pass looks through
  kCall,                 ///< (args...) {} with Node::body: a graph of one output
  kFusion,  ///< (args...) {shape, axis} with Node::body: a group that runs as one kernel over the
            ///< domain `shape`, see group.h; made by passes only. The node is result 0
  kGroupResult,  ///< (fusion or host_call) {index}: a further result, written by its command
  kHostCall,     ///< (x...) {function, version, results}: what a function on the host makes of the
  ///< operands' values, see host_function.h. The node is result 0, group_results right
  ///< behind it are the others. Equal operands give equal results, so that equal calls
  ///< are one, and one whose results nobody reads is none

  // Collectives over all ranks (all_reduce: over all logical shards of a step).
  kAllReduce,            ///< sum
  kReduceScatter,        ///< {ranks}: slice `rank` of dimension 0 of the sum
  kAllGather,            ///< {ranks}: concatenation over ranks along dimension 0
  kCollectiveBroadcast,  ///< {root}: root's value
};

inline constexpr int kOpCount = static_cast<int>(Op::kCollectiveBroadcast) + 1;

enum class OpClass : std::uint8_t {
  kLeaf,
  kUnary,
  kBinary,
  kCompare,
  kSelect,
  kConvert,
  kMovement,
  kReduction,
  kContraction,
  kWindow,
  kControl,
  kCollective,
};

struct OpInfo {
  Op op;
  std::string_view name;  ///< as in the text form
  OpClass op_class;
  int min_operands;
  int max_operands;  ///< -1: any number
  bool commutative;
  double flops_per_element;  ///< of the result; contractions have formulas in cost.cpp
};

const OpInfo& info_of(Op op);
inline std::string_view name_of(Op op) {
  return info_of(op).name;
}
std::optional<Op> parse_op(std::string_view name);

/// One result element depends on the elements at the same place only (convert and select included).
bool is_elementwise(Op op);
bool is_collective(Op op);

}  // namespace lockstep
