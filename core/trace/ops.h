// The ops as functions of tensors. Each records one node, or a node and the broadcasts it needs.
// Binary operands follow NumPy broadcasting of shapes but never change dtypes: mixing dtypes is an
// error that prints both operands; plain numbers take the other operand's dtype. Meanings are in
// ir/op.h.
#pragma once

#include <array>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/api.h"
#include "core/trace/tensor.h"

namespace LOCKSTEP_API lockstep {

using Ints = SmallVector<std::int64_t, 4>;

Tensor operator+(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a, const Operand& b);
Tensor operator*(const Operand& a, const Operand& b);
Tensor operator/(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a);

/// Any elementwise op of two operands (BinaryOp, CompareOp), broadcasting.
Tensor binary(Op op, const Operand& a, const Operand& b);
/// Any elementwise op of one operand.
Tensor unary(Op op, const Tensor& x, Where where = Where::current());

inline Tensor maximum(const Operand& a, const Operand& b) {
  return binary(Op::kMaximum, a, b);
}
inline Tensor minimum(const Operand& a, const Operand& b) {
  return binary(Op::kMinimum, a, b);
}
inline Tensor power(const Operand& a, const Operand& b) {
  return binary(Op::kPower, a, b);
}
inline Tensor remainder(const Operand& a, const Operand& b) {
  return binary(Op::kRemainder, a, b);
}
inline Tensor equal(const Operand& a, const Operand& b) {
  return binary(Op::kEqual, a, b);
}
inline Tensor not_equal(const Operand& a, const Operand& b) {
  return binary(Op::kNotEqual, a, b);
}
inline Tensor less(const Operand& a, const Operand& b) {
  return binary(Op::kLess, a, b);
}
inline Tensor less_equal(const Operand& a, const Operand& b) {
  return binary(Op::kLessEqual, a, b);
}
inline Tensor greater(const Operand& a, const Operand& b) {
  return binary(Op::kGreater, a, b);
}
inline Tensor greater_equal(const Operand& a, const Operand& b) {
  return binary(Op::kGreaterEqual, a, b);
}
inline Tensor logical_and(const Operand& a, const Operand& b) {
  return binary(Op::kAnd, a, b);
}
inline Tensor logical_or(const Operand& a, const Operand& b) {
  return binary(Op::kOr, a, b);
}
inline Tensor logical_xor(const Operand& a, const Operand& b) {
  return binary(Op::kXor, a, b);
}

Tensor abs(const Tensor& x, Where where = Where::current());
/// -1, 0 or 1; NaN for NaN.
Tensor sign(const Tensor& x, Where where = Where::current());
Tensor floor(const Tensor& x, Where where = Where::current());
Tensor ceil(const Tensor& x, Where where = Where::current());
/// To the nearest integer, ties to even.
Tensor round_even(const Tensor& x, Where where = Where::current());
Tensor exp(const Tensor& x, Where where = Where::current());
Tensor log(const Tensor& x, Where where = Where::current());
Tensor tanh(const Tensor& x, Where where = Where::current());
Tensor erf(const Tensor& x, Where where = Where::current());
Tensor sqrt(const Tensor& x, Where where = Where::current());
Tensor rsqrt(const Tensor& x, Where where = Where::current());
Tensor sin(const Tensor& x, Where where = Where::current());
Tensor cos(const Tensor& x, Where where = Where::current());
Tensor is_finite(const Tensor& x, Where where = Where::current());
Tensor logical_not(const Tensor& x, Where where = Where::current());

/// pred ? a : b with broadcasting; at least one of a and b is a tensor.
Tensor select(const Tensor& pred, const Operand& a, const Operand& b,
              Where where = Where::current());
Tensor convert(const Tensor& x, DType to, Where where = Where::current());

/// NumPy broadcasting to `shape`.
Tensor broadcast_to(const Tensor& x, const Shape& shape, Where where = Where::current());
/// Operand dimension i becomes result dimension dims[i].
Tensor broadcast_in_dim(const Tensor& x, const Shape& shape, IntView dims,
                        Where where = Where::current());
/// One size may be -1 and is then inferred.
Tensor reshape(const Tensor& x, const Shape& shape, Where where = Where::current());
Tensor reshape(const Tensor& x, IntView sizes, Where where = Where::current());
Tensor reshape(const Tensor& x, std::initializer_list<std::int64_t> sizes,
               Where where = Where::current());
Tensor transpose(const Tensor& x, IntView permutation, Where where = Where::current());
Tensor slice(const Tensor& x, IntView start, IntView limit, IntView stride,
             Where where = Where::current());
/// Elements [start, limit) of one dimension (negative: from the end).
Tensor slice_dim(const Tensor& x, int dim, std::int64_t start, std::int64_t limit,
                 Where where = Where::current());
Tensor dynamic_slice(const Tensor& x, std::span<const Tensor> starts, const Shape& shape,
                     Where where = Where::current());
Tensor dynamic_update_slice(const Tensor& x, const Tensor& update, std::span<const Tensor> starts,
                            Where where = Where::current());
Tensor pad(const Tensor& x, double value, IntView low, IntView high,
           Where where = Where::current());
Tensor concatenate(std::span<const Tensor> parts, int axis, Where where = Where::current());
Tensor gather(const Tensor& x, const Tensor& indices, int axis, Where where = Where::current());
Tensor scatter_add(const Tensor& x, const Tensor& indices, const Tensor& updates, int axis,
                   Where where = Where::current());
/// 0, 1, 2, ... along axis.
Tensor iota(TraceContext& context, const Shape& shape, int axis, DType dtype,
            Where where = Where::current());

/// Reductions over dims (negative: from the end); with `keep_dims` reduced sizes become 1.
Tensor reduce(Op op, const Tensor& x, IntView dims, bool keep_dims = false,
              Where where = Where::current());
Tensor reduce_sum(const Tensor& x, IntView dims, bool keep_dims = false,
                  Where where = Where::current());
Tensor reduce_max(const Tensor& x, IntView dims, bool keep_dims = false,
                  Where where = Where::current());
/// The sum of all elements: a scalar.
Tensor sum(const Tensor& x, Where where = Where::current());
Tensor arg_max(const Tensor& x, int axis, Where where = Where::current());

struct DotSpec {
  Ints lhs_batch = {}, rhs_batch = {}, lhs_contract = {}, rhs_contract = {};
  std::optional<DType> to = {};  ///< dtype of the result; the operands' if absent
};
Tensor dot_general(const Tensor& a, const Tensor& b, const DotSpec& spec,
                   Where where = Where::current());
/// [..., M, K] x [..., K, N] with equal leading dimensions.
Tensor matmul(const Tensor& a, const Tensor& b, Where where = Where::current());

struct ConvSpec {
  std::array<std::int64_t, 2> stride{1, 1};
  std::array<std::int64_t, 4> padding{0, 0, 0, 0};  ///< top, bottom, left, right
  std::array<std::int64_t, 2> dilation{1, 1};
  std::int64_t groups = 1;
};
/// x [N,C,H,W], w [O,C/groups,KH,KW] -> [N,O,OH,OW].
Tensor convolution(const Tensor& x, const Tensor& w, const ConvSpec& spec,
                   Where where = Where::current());

struct PoolSpec {
  std::array<std::int64_t, 2> window{2, 2};
  std::array<std::int64_t, 2> stride{2, 2};
  std::array<std::int64_t, 4> padding{0, 0, 0, 0};
};
Tensor max_pool(const Tensor& x, const PoolSpec& spec, Where where = Where::current());
Tensor avg_pool(const Tensor& x, const PoolSpec& spec, Where where = Where::current());

/// The key of every draw of random numbers: i64[] scalars. seed and step are inputs of the run,
/// micro_batch is the micro-batch's number (an InputKind::kBatch input).
struct RandomKey {
  Tensor seed, step, micro_batch;
};
/// Random i32 words; the stream is the module path and the ordinal of the draw in it.
Tensor random_bits(const RandomKey& key, const Shape& shape, Where where = Where::current());

struct AttentionSpec {
  bool causal = false;
  double scale = 1.0;
  double dropout = 0.0;                 ///< needs `key` if positive
  std::optional<Tensor> key_mask;       ///< bool [B,Tk]: the visible keys
  std::optional<Tensor> segments = {};  ///< i32 [B,T], instead: queries see keys of their segment
  std::optional<RandomKey> key;
};
/// q [B,Tq,H,D], k and v [B,Tk,G,D], G divides H -> [B,Tq,H,D]. Segments <= 0 are ignored.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec,
                 Where where = Where::current());
/// qkv [B,T,3,H,D] -> [B,T,H,D]: without copies of the parts.
Tensor attention(const Tensor& qkv, const AttentionSpec& spec, Where where = Where::current());
Tensor optimization_barrier(const Tensor& x, Where where = Where::current());
/// Records a call of a graph with one output.
Tensor call(std::shared_ptr<const Graph> body, std::span<const Tensor> operands,
            Where where = Where::current());

/// Summed over the step's micro-batches: the border between gradient program and update program,
/// of which neither runs it. Not allowed on a value that was already all-reduced.
Tensor all_reduce(const Tensor& x, Where where = Where::current());
/// Collectives over ranks, in the update program.
Tensor replica_id(TraceContext& context, Where where = Where::current());
Tensor reduce_scatter(const Tensor& x, std::int64_t ranks, Where where = Where::current());
Tensor all_gather(const Tensor& x, std::int64_t ranks, Where where = Where::current());
Tensor collective_broadcast(const Tensor& x, std::int64_t root, Where where = Where::current());

}  // namespace lockstep
