// The ops as functions of tensors, but those that work element by element, which elementwise.h has.
// Each records one node, or a node and the broadcasts it needs. Their meanings are in
// core/ir/op_set.h.
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

using Ints = SmallVector<std::int64_t, 4>;  ///< a few integers, usually without an allocation

/// NumPy broadcasting to `shape`.
Tensor broadcast_to(const Tensor& x, const Shape& shape, Where where = Where::current());
/// Operand dimension i becomes result dimension dims[i].
Tensor broadcast_in_dim(const Tensor& x, const Shape& shape, IntView dims,
                        Where where = Where::current());
/// The same elements in row-major order. Error kUsage if their numbers differ.
Tensor reshape(const Tensor& x, const Shape& shape, Where where = Where::current());
/// The same; one size may be -1 and is then inferred.
/// @{
Tensor reshape(const Tensor& x, IntView sizes, Where where = Where::current());
Tensor reshape(const Tensor& x, std::initializer_list<std::int64_t> sizes,
               Where where = Where::current());
/// @}
/// Result dimension i is dimension permutation[i] of x.
Tensor transpose(const Tensor& x, IntView permutation, Where where = Where::current());
/// Elements start, start + stride, ... below limit of every dimension: a number for each.
Tensor slice(const Tensor& x, IntView start, IntView limit, IntView stride,
             Where where = Where::current());
/// Elements [start, limit) of one dimension (negative: from the end).
Tensor slice_dim(const Tensor& x, int dim, std::int64_t start, std::int64_t limit,
                 Where where = Where::current());
/// The part of this shape that begins at `starts`, an i64[] for each dimension, clamped so that it
/// fits.
Tensor dynamic_slice(const Tensor& x, std::span<const Tensor> starts, const Shape& shape,
                     Where where = Where::current());
/// X with `update` written at `starts`, an i64[] for each dimension, clamped so that it fits.
Tensor dynamic_update_slice(const Tensor& x, const Tensor& update, std::span<const Tensor> starts,
                            Where where = Where::current());
/// X with low[i] values before and high[i] behind it in dimension i; numbers >= 0.
Tensor pad(const Tensor& x, double value, IntView low, IntView high,
           Where where = Where::current());
/// The parts one after the other along `axis`; their other sizes are equal.
Tensor concatenate(std::span<const Tensor> parts, int axis, Where where = Where::current());
/// x taken along `axis` at integer indices: in the shape of x, the axis is replaced by the shape of
/// the indices, which are clamped to the valid range.
Tensor gather(const Tensor& x, const Tensor& indices, int axis, Where where = Where::current());
/// x plus updates at the indices along `axis`, of the shape that gather() gives; duplicates are
/// added in ascending order of position.
Tensor scatter_add(const Tensor& x, const Tensor& indices, const Tensor& updates, int axis,
                   Where where = Where::current());
/// 0, 1, 2, ... along axis.
Tensor iota(TraceContext& context, const Shape& shape, int axis, DType dtype,
            Where where = Where::current());

/// Reductions over dims (negative: from the end); with `keep_dims` reduced sizes become 1.
Tensor reduce(Op op, const Tensor& x, IntView dims, bool keep_dims = false,
              Where where = Where::current());
/// The sum; of bf16 and f16 it is taken in f32 and rounded once.
Tensor reduce_sum(const Tensor& x, IntView dims, bool keep_dims = false,
                  Where where = Where::current());
/// The maximum; of no elements -infinity, or the lowest integer.
Tensor reduce_max(const Tensor& x, IntView dims, bool keep_dims = false,
                  Where where = Where::current());
/// The sum of all elements: a scalar.
Tensor sum(const Tensor& x, Where where = Where::current());
/// i32: the index of the first maximum along `axis`, which is removed; NaN counts as largest.
Tensor arg_max(const Tensor& x, int axis, Where where = Where::current());

/// Which dimensions of a (lhs) and b (rhs) a dot_general() joins.
struct DotSpec {
  Ints lhs_batch = {};           ///< dimensions of a that both have and the result keeps
  Ints rhs_batch = {};           ///< the same ones of b
  Ints lhs_contract = {};        ///< dimensions of a that are summed over
  Ints rhs_contract = {};        ///< the same ones of b
  std::optional<DType> to = {};  ///< dtype of the result; the operands' if absent
};
/// Products of a and b, summed over the contracted dimensions; in f32 for 16-bit operands.
/// Dimensions of the result: batch, the rest of a, the rest of b. Error kUsage if sizes differ.
Tensor dot_general(const Tensor& a, const Tensor& b, const DotSpec& spec,
                   Where where = Where::current());
/// [..., M, K] x [..., K, N] with equal leading dimensions.
Tensor matmul(const Tensor& a, const Tensor& b, Where where = Where::current());

/// Where a convolution puts its kernel; height, then width.
struct ConvSpec {
  std::array<std::int64_t, 2> stride{1, 1};         ///< pixels between places of the kernel
  std::array<std::int64_t, 4> padding{0, 0, 0, 0};  ///< top, bottom, left, right
  std::array<std::int64_t, 2> dilation{1, 1};       ///< pixels between elements of the kernel
  std::int64_t groups = 1;                          ///< parts of the channels that do not mix
};
/// x [N,C,H,W], w [O,C/groups,KH,KW] -> [N,O,OH,OW].
Tensor convolution(const Tensor& x, const Tensor& w, const ConvSpec& spec,
                   Where where = Where::current());

/// Where pooling takes its windows; height, then width.
struct PoolSpec {
  std::array<std::int64_t, 2> window{2, 2};         ///< pixels of a window
  std::array<std::int64_t, 2> stride{2, 2};         ///< pixels between windows
  std::array<std::int64_t, 4> padding{0, 0, 0, 0};  ///< top, bottom, left, right; below the window
};
/// The largest value of each window, x [N,C,H,W]; padding is never the maximum.
Tensor max_pool(const Tensor& x, const PoolSpec& spec, Where where = Where::current());
/// The mean of each window, x [N,C,H,W]; padding counts as zero, and the divisor is the window's
/// size.
Tensor avg_pool(const Tensor& x, const PoolSpec& spec, Where where = Where::current());

/// The key of every draw of random numbers: i64[] scalars. seed and step are inputs of the run,
/// micro_batch is the micro-batch's number (an InputKind::kBatch input).
struct RandomKey {
  Tensor seed;         ///< of the run
  Tensor step;         ///< 0-based
  Tensor micro_batch;  ///< number within the step
};
/// Random i32 words; the stream is the module path and the ordinal of the draw in it.
Tensor random_bits(const RandomKey& key, const Shape& shape, Where where = Where::current());

/// What attention() does besides softmax(scale q k^T) v.
struct AttentionSpec {
  bool causal = false;                  ///< query i sees keys j <= i + Tk - Tq
  double scale = 1.0;                   ///< of the scores, such as 1 / sqrt(D)
  double dropout = 0.0;                 ///< needs `key` if positive
  std::optional<Tensor> key_mask;       ///< bool [B,Tk]: the visible keys
  std::optional<Tensor> segments = {};  ///< i32 [B,T], instead: queries see keys of their segment
  std::optional<RandomKey> key;         ///< of the dropout
};
/// q [B,Tq,H,D], k and v [B,Tk,G,D], G divides H -> [B,Tq,H,D]. Segments <= 0 are ignored.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec,
                 Where where = Where::current());
/// qkv [B,T,3,H,D] -> [B,T,H,D]: without copies of the parts.
Tensor attention(const Tensor& qkv, const AttentionSpec& spec, Where where = Where::current());
/// x, which no pass moves or merges with other nodes.
Tensor optimization_barrier(const Tensor& x, Where where = Where::current());
/// Records a call of a graph with one output.
Tensor call(std::shared_ptr<const Graph> body, std::span<const Tensor> operands,
            Where where = Where::current());

/// Summed over the step's micro-batches: the border between gradient program and update program,
/// of which neither runs it. Not allowed on a value that was already all-reduced.
Tensor all_reduce(const Tensor& x, Where where = Where::current());
/// i32[]: the number of this rank. In the update program.
Tensor replica_id(TraceContext& context, Where where = Where::current());
/// Slice number `rank` of dimension 0, in `ranks` parts, of the sum over ranks. In the update
/// program.
Tensor reduce_scatter(const Tensor& x, std::int64_t ranks, Where where = Where::current());
/// The values of all ranks, one after the other along dimension 0. In the update program.
Tensor all_gather(const Tensor& x, std::int64_t ranks, Where where = Where::current());
/// The value of rank `root`. In the update program.
Tensor collective_broadcast(const Tensor& x, std::int64_t root, Where where = Where::current());

}  // namespace lockstep
