// The op set: small and close to HLO. Ops are declared once, class by class: a function that
// differs for each op of a class is a switch over that class without `default`, so that a missing
// op is a compile error. Facts about an op are in its row of the table (op.h, op.cpp); its
// executable meaning is in kernels/reference.
//
// Elementwise ops (one to three operands, compare and convert included) take operands of one shape
// and, except for select, of one dtype: broadcast and convert are separate ops. Attributes are
// written in braces, see attrs.h.
#pragma once

#include <cstdint>

#include "core/base/api.h"

namespace LOCKSTEP_API lockstep {

/// The number of the first op of a class: numbers continue from class to class.
template <class E>
constexpr std::uint8_t after(E last_of_the_class_before) {
  return static_cast<std::uint8_t>(last_of_the_class_before) + 1;
}

/// What a program begins with: inputs, constants, indices, random bits.
enum class LeafOp : std::uint8_t {
  kInput,       ///< a value given at execution; Graph::inputs says which
  kConstant,    ///< Node::literal; part of the structure
  kIota,        ///< {shape, axis, to}: the index along axis
  kRandomBits,  ///< (seed i64[], step i64[], micro_batch i64[]) {shape, stream} -> i32: element i
                ///< is Philox word i (base/rng.h), as bits
  kReplicaId,   ///< i32[]: this rank
};

/// One operand, element by element: the result has its shape and, unless stated, its dtype.
enum class UnaryOp : std::uint8_t {
  kNegate = after(LeafOp::kReplicaId),  ///< integers wrap
  kAbs,                                 ///< absolute value
  kSign,                                ///< -1, 0, 1; 0 for 0, NaN for NaN
  kExp,                                 ///< e to the power of x
  kLog,                                 ///< natural logarithm
  kTanh,                                ///< hyperbolic tangent
  kErf,                                 ///< error function
  kSqrt,                                ///< square root
  kRsqrt,                               ///< 1 / sqrt(x)
  kSin,                                 ///< sine of radians
  kCos,                                 ///< cosine of radians
  kFloor,                               ///< the next integer below
  kCeil,                                ///< the next integer above
  kRoundEven,                           ///< to the nearest integer, ties to even
  kIsFinite,                            ///< -> bool
  kNot,                                 ///< bool: logical; integers: bitwise
};

/// Two operands of one shape and dtype, element by element.
enum class BinaryOp : std::uint8_t {
  kAdd = after(UnaryOp::kNot),  ///< integers wrap
  kSubtract,                    ///< integers wrap
  kMultiply,                    ///< integers wrap
  kDivide,                      ///< integers truncate; x / 0 = -1, min / -1 = min
  kRemainder,                   ///< sign of the dividend; integers: x % 0 = x
  kPower,                       ///< the first to the power of the second
  kMaximum,                     ///< NaN if either is NaN; of 0 and -0, which are equal, the second
  kMinimum,                     ///< likewise
  kAnd,                         ///< bool: logical; integers: bitwise
  kOr,                          ///< bool: logical; integers: bitwise
  kXor,                         ///< bool: logical; integers: bitwise
  kShiftLeft,                   ///< a shift by the width or more, or a negative one, gives 0
  kShiftRightLogical,           ///< zeros are shifted in; likewise
};

/// -> bool; comparisons with NaN are false, except kNotEqual.
enum class CompareOp : std::uint8_t {
  kEqual = after(BinaryOp::kShiftRightLogical),  ///< a == b
  kNotEqual,                                     ///< a != b
  kLess,                                         ///< a < b
  kLessEqual,                                    ///< a <= b
  kGreater,                                      ///< a > b
  kGreaterEqual,                                 ///< a >= b
};

/// Three operands of one shape, element by element.
enum class SelectOp : std::uint8_t {
  kSelect = after(CompareOp::kGreaterEqual),  ///< (pred bool, a, b): pred ? a : b
};

/// The operand's elements in another dtype.
enum class ConvertOp : std::uint8_t {
  kConvert = after(SelectOp::kSelect),  ///< {to}: float -> integer truncates and saturates (NaN ->
                                        ///< 0); x -> bool is x != 0
};

/// Elements in other places.
enum class MovementOp : std::uint8_t {
  kBroadcast = after(ConvertOp::kConvert),  ///< {shape, dims}: operand dimension i becomes result
                                            ///< dimension dims[i], increasing; a size-1 operand
                                            ///< dimension is repeated, the others match
  kReshape,                                 ///< {shape}: the same elements in row-major order
  kTranspose,           ///< {dims}: result dimension i is operand dimension dims[i]
  kSlice,               ///< {start, limit, stride}
  kDynamicSlice,        ///< (x, i64[] per dimension) {shape}: starts are clamped to fit
  kDynamicUpdateSlice,  ///< (x, update, i64[] per dimension): x with update written; starts clamped
  kPad,  ///< (x, value []) {low, high}: non-negative numbers of values around each dimension
  kConcatenate,  ///< (x...) {axis}
  kGather,       ///< (x, indices i32|i64) {axis}: x taken along axis; result shape is x's with the
                 ///< axis replaced by the indices' shape; indices are clamped to the valid range
  kScatterAdd,   ///< (x, indices, updates) {axis}: x plus updates at the indices, the inverse shape
                 ///< of gather; duplicates are added in ascending order of position; clamped
};

/// {dims} are removed. Sums of bf16 and f16 accumulate in f32 and round once.
enum class ReductionOp : std::uint8_t {
  kReduceSum = after(MovementOp::kScatterAdd),  ///< integers wrap
  kReduceProduct,                               ///< integers wrap
  kReduceMax,  ///< of no elements: -infinity or the lowest integer; of 0 and -0 either
  kReduceMin,  ///< of no elements: infinity or the highest integer; likewise
  kArgMax,     ///< {axis} -> i32, the first of equals; NaN counts as largest
  kArgMin,     ///< {axis} -> i32, the first of equals; NaN counts as smallest
};

/// Sums of products; f32 accumulation for 16-bit operands.
enum class ContractionOp : std::uint8_t {
  /// (a, b) {lhs_batch, rhs_batch, lhs_contract, rhs_contract, [to]}: result dimensions are batch,
  /// a's free, b's free; `to` is the result dtype, the operands' if absent.
  kDotGeneral = after(ReductionOp::kArgMin),
  /// (x, w) -> y: x is [N,C,H,W], w is [O,C/groups,KH,KW], y is [N,O,OH,OW];
  /// {stride[2], padding[top,bottom,left,right], dilation[2], groups, [to], [channels_last]}; with
  /// channels_last images are [N,H,W,C] (image_layout.h), and w is as before.
  kConvolution,
  kConvolutionGradInput,   ///< (dy, w) {.., shape of x} -> dx
  kConvolutionGradWeight,  ///< (x, dy) {.., shape of w} -> dw
};

/// Pooling {window[2], stride[2], padding[4], [channels_last]}, padding below the window; of 0 and
/// -0 either.
enum class WindowOp : std::uint8_t {
  kMaxPool = after(ContractionOp::kConvolutionGradWeight),  ///< (x): padding counts as -infinity
  kMaxPoolGrad,  ///< (x, dy) -> dx: each dy goes to the first maximum of its window
  kAvgPool,      ///< (x): padding counts as zero, the divisor is always the window's size
  kAvgPoolGrad,  ///< (dy) {.., shape of x} -> dx
};

/// q [B,Tq,H,D], k and v [B,Tk,G,D], of which each serves H / G neighbouring heads of q, or one qkv
/// [B,T,3,H,D]; {causal, scale, dropout, masked};
/// softmax(scale * q k^T) v over the keys that are visible: key_mask bool[B,Tk] if `masked`, or
/// segments i32[B,T] of which a query sees its own, if that is > 0; with `causal` query i sees keys
/// j <= i + Tk - Tq; a query that sees none gives 0. If dropout > 0,
/// weight ((b*H+h)*Tq+i)*Tk+j is dropped where uniform(word) < dropout, else scaled 1/(1-dropout).
enum class AttentionOp : std::uint8_t {
  /// (q, k, v | qkv, [key_mask], [seed, step, micro_batch] {stream}) -> [B,Tq,H,D]
  kAttention = after(WindowOp::kAvgPoolGrad),
  /// (q, k, v | qkv, out, dout, [key_mask], [seed, step, micro_batch]) -> dq, dk, dv, each
  /// flattened, in one f[q + k + v elements]; of qkv: its shape
  kAttentionGrad,
};

/// Control of the compiler.
enum class ControlOp : std::uint8_t {
  kOptimizationBarrier = after(AttentionOp::kAttentionGrad),  ///< (x, [after]) opaque to all passes
  kCall,         ///< (args...) {} with Node::body: a graph of one output
  kFusion,       ///< (args...) {shape, axis} with Node::body: a group that runs as one kernel over
                 ///< the domain `shape`, see group.h; made by passes only. The node is result 0
  kGroupResult,  ///< (fusion or host_call) {index}: a further result, written by its command
  /// The results of a function on the host, see host_function.h: (x...) {function, version,
  /// results}. The node is result 0, the group_results right after it are the others. Equal
  /// operands give equal results: equal calls are merged, and a call whose results are unused is
  /// removed.
  kHostCall,
};

/// Over all ranks; all_reduce: over all micro-batches of a step, and the border between its two
/// programs, of which neither runs it.
enum class CollectiveOp : std::uint8_t {
  kAllReduce = after(ControlOp::kHostCall),  ///< sum
  kReduceScatter,                            ///< {ranks}: slice `rank` of dimension 0 of the sum
  kAllGather,            ///< {ranks}: concatenation over ranks along dimension 0
  kCollectiveBroadcast,  ///< {root}: root's value
};

}  // namespace lockstep
