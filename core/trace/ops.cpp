#include "core/trace/ops.h"

#include <numeric>

#include "core/base/error.h"
#include "core/trace/context.h"
#include "core/trace/cut_trace.h"
#include "core/trace/elementwise.h"

namespace lockstep {
namespace {

/// The line that an error of an operand names: that of the open LocationScope.
std::string line_of(const Tensor& x) {
  return x.context().origin().to_string();
}

int normal_dim(const Tensor& x, std::int64_t dim) {
  const int rank = x.shape().rank();
  LS_USER_CHECK(dim >= -rank && dim < rank, "{}: dimension {} is out of range for {}", line_of(x),
                dim, x.type().to_string());
  return static_cast<int>(dim < 0 ? dim + rank : dim);
}

Ints normal_dims(const Tensor& x, IntView dims) {
  Ints out;
  for (const std::int64_t d : dims) out.push_back(normal_dim(x, d));
  return out;
}

/// The tensor, or for a plain number a tensor of `other`'s type filled with it.
Tensor materialize(const Operand& x, const Tensor& other) {
  if (!x.is_number()) return x.tensor();
  return other.context().filled(x.number(), other.type());
}

/// Broadcasts both operands of an elementwise op to their common shape.
void broadcast_pair(Op op, Tensor& a, Tensor& b) {
  if (a.shape() == b.shape()) return;
  Shape shape;
  try {
    shape = broadcast_shapes(a.shape(), b.shape());
  } catch (const Error& e) {
    raise(ErrorKind::kUsage, "{}: {}({}, {}): {}", line_of(a), name_of(op), a.type().to_string(),
          b.type().to_string(), e.what());
  }
  a = broadcast_to(a, shape);
  b = broadcast_to(b, shape);
}

Attrs window_attrs(const ConvSpec& spec) {
  Attrs attrs;
  attrs.set(Attr::kStride, spec.stride);
  attrs.set(Attr::kPadding, spec.padding);
  attrs.set(Attr::kDilation, spec.dilation);
  attrs.set_int(Attr::kGroups, spec.groups);
  return attrs;
}

Attrs window_attrs(const PoolSpec& spec) {
  Attrs attrs;
  attrs.set(Attr::kWindow, spec.window);
  attrs.set(Attr::kStride, spec.stride);
  attrs.set(Attr::kPadding, spec.padding);
  return attrs;
}

/// Null for a number.
const Tensor* tensor_in(const Operand& x) {
  return x.is_number() ? nullptr : &x.tensor();
}

Tensor record_all(Op op, std::span<const Tensor> operands, Attrs attrs, Where where) {
  return context_of_all(name_of(op), operands, where).record(op, operands, std::move(attrs), where);
}

Tensor record1(Op op, const Tensor& x, Attrs attrs, Where where = Where::current()) {
  return context_of(name_of(op), {&x}, where).record(op, {x}, std::move(attrs), where);
}

}  // namespace

Tensor binary(Op op, const Operand& a, const Operand& b) {
  LS_USER_CHECK(!a.is_number() || !b.is_number(),
                "{}: {} of two plain numbers: one operand must be a tensor",
                origin_of(a.where()).to_string(), name_of(op));
  const LocationScope line(name_of(op), {tensor_in(a), tensor_in(b)}, a.where());
  const Tensor& either = a.is_number() ? b.tensor() : a.tensor();
  Tensor left = materialize(a, either);
  Tensor right = materialize(b, left);
  broadcast_pair(op, left, right);
  return left.context().record(op, {left, right}, {});
}

Tensor unary(Op op, const Tensor& x, Where where) {
  return record1(op, x, {}, where);
}

Tensor operator+(const Operand& a, const Operand& b) {
  return binary(Op::kAdd, a, b);
}
Tensor operator-(const Operand& a, const Operand& b) {
  return binary(Op::kSubtract, a, b);
}
Tensor operator*(const Operand& a, const Operand& b) {
  return binary(Op::kMultiply, a, b);
}
Tensor operator/(const Operand& a, const Operand& b) {
  return binary(Op::kDivide, a, b);
}
Tensor operator-(const Operand& a) {
  LS_USER_CHECK(!a.is_number(), "{}: minus of a plain number: the operand must be a tensor",
                origin_of(a.where()).to_string());
  return unary(Op::kNegate, a.tensor(), a.where());
}

Tensor abs(const Tensor& x, Where where) {
  return unary(Op::kAbs, x, where);
}
Tensor sign(const Tensor& x, Where where) {
  return unary(Op::kSign, x, where);
}
Tensor floor(const Tensor& x, Where where) {
  return unary(Op::kFloor, x, where);
}
Tensor ceil(const Tensor& x, Where where) {
  return unary(Op::kCeil, x, where);
}
Tensor round_even(const Tensor& x, Where where) {
  return unary(Op::kRoundEven, x, where);
}
Tensor exp(const Tensor& x, Where where) {
  return unary(Op::kExp, x, where);
}
Tensor log(const Tensor& x, Where where) {
  return unary(Op::kLog, x, where);
}
Tensor tanh(const Tensor& x, Where where) {
  return unary(Op::kTanh, x, where);
}
Tensor erf(const Tensor& x, Where where) {
  return unary(Op::kErf, x, where);
}
Tensor sqrt(const Tensor& x, Where where) {
  return unary(Op::kSqrt, x, where);
}
Tensor rsqrt(const Tensor& x, Where where) {
  return unary(Op::kRsqrt, x, where);
}
Tensor sin(const Tensor& x, Where where) {
  return unary(Op::kSin, x, where);
}
Tensor cos(const Tensor& x, Where where) {
  return unary(Op::kCos, x, where);
}
Tensor is_finite(const Tensor& x, Where where) {
  return unary(Op::kIsFinite, x, where);
}
Tensor logical_not(const Tensor& x, Where where) {
  return unary(Op::kNot, x, where);
}

Tensor select(const Tensor& pred, const Operand& a, const Operand& b, Where where) {
  const LocationScope line(name_of(Op::kSelect), {&pred, tensor_in(a), tensor_in(b)}, where);
  LS_USER_CHECK(!a.is_number() || !b.is_number(),
                "{}: select needs a tensor to take the dtype from", line_of(pred));
  Tensor left = materialize(a, b.is_number() ? a.tensor() : b.tensor());
  Tensor right = materialize(b, left);
  broadcast_pair(Op::kSelect, left, right);
  Tensor condition = pred;
  broadcast_pair(Op::kSelect, condition, left);
  right = broadcast_to(right, left.shape());
  return pred.context().record(Op::kSelect, {condition, left, right}, {});
}

Tensor convert(const Tensor& x, DType to, Where where) {
  if (x.defined() && x.dtype() == to) return x;
  Attrs attrs;
  attrs.set_dtype(to);
  return record1(Op::kConvert, x, std::move(attrs), where);
}

Tensor broadcast_to(const Tensor& x, const Shape& shape, Where where) {
  if (x.defined() && x.shape() == shape) return x;
  const LocationScope line(name_of(Op::kBroadcast), {&x}, where);
  const int lead = shape.rank() - x.shape().rank();
  LS_USER_CHECK(lead >= 0, "{}: {} cannot be broadcast to the lower rank of {}", line_of(x),
                x.type().to_string(), shape.to_string());
  Ints dims(static_cast<std::size_t>(x.shape().rank()));
  std::iota(dims.begin(), dims.end(), lead);
  return broadcast_in_dim(x, shape, dims);
}

Tensor broadcast_in_dim(const Tensor& x, const Shape& shape, IntView dims, Where where) {
  return record1(Op::kBroadcast, x, {{Attr::kShape, shape.sizes()}, {Attr::kDims, dims}}, where);
}

Tensor reshape(const Tensor& x, const Shape& shape, Where where) {
  if (x.defined() && x.shape() == shape) return x;
  return record1(Op::kReshape, x, {{Attr::kShape, shape.sizes()}}, where);
}

Tensor reshape(const Tensor& x, std::initializer_list<std::int64_t> sizes, Where where) {
  return reshape(x, IntView(sizes), where);
}

Tensor reshape(const Tensor& x, IntView sizes, Where where) {
  const LocationScope line(name_of(Op::kReshape), {&x}, where);
  Ints resolved(sizes.begin(), sizes.end());
  std::int64_t known = 1;
  std::int64_t* open = nullptr;
  for (std::int64_t& size : resolved) {
    if (size != -1) {
      known *= size;
      continue;
    }
    LS_USER_CHECK(open == nullptr, "{}: reshape of {}: only one size can be -1", line_of(x),
                  x.type().to_string());
    open = &size;
  }
  if (open != nullptr) {
    LS_USER_CHECK(known > 0 && x.shape().elements() % known == 0,
                  "{}: reshape of {}: {} elements do not divide by {}", line_of(x),
                  x.type().to_string(), x.shape().elements(), known);
    *open = x.shape().elements() / known;
  }
  return reshape(x, Shape(resolved));
}

Tensor transpose(const Tensor& x, IntView permutation, Where where) {
  const LocationScope line(name_of(Op::kTranspose), {&x}, where);
  return record1(Op::kTranspose, x, {{Attr::kDims, normal_dims(x, permutation)}});
}

Tensor slice(const Tensor& x, IntView start, IntView limit, IntView stride, Where where) {
  return record1(Op::kSlice, x,
                 {{Attr::kStart, start}, {Attr::kLimit, limit}, {Attr::kStride, stride}}, where);
}

Tensor slice_dim(const Tensor& x, int dim, std::int64_t start, std::int64_t limit, Where where) {
  const LocationScope line(name_of(Op::kSlice), {&x}, where);
  const auto at = static_cast<std::size_t>(normal_dim(x, dim));
  const auto sizes = x.shape().sizes();
  Ints starts(sizes.size(), 0);
  Ints limits(sizes.begin(), sizes.end());
  const std::int64_t size = limits[at];
  starts[at] = start < 0 ? start + size : start;
  limits[at] = limit < 0 ? limit + size : limit;
  return slice(x, starts, limits, Ints(starts.size(), 1));
}

Tensor dynamic_slice(const Tensor& x, std::span<const Tensor> starts, const Shape& shape,
                     Where where) {
  std::vector<Tensor> operands{x};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return record_all(Op::kDynamicSlice, operands, {{Attr::kShape, shape.sizes()}}, where);
}

Tensor dynamic_update_slice(const Tensor& x, const Tensor& update, std::span<const Tensor> starts,
                            Where where) {
  std::vector<Tensor> operands{x, update};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return record_all(Op::kDynamicUpdateSlice, operands, {}, where);
}

Tensor pad(const Tensor& x, double value, IntView low, IntView high, Where where) {
  const LocationScope line(name_of(Op::kPad), {&x}, where);
  const Tensor fill = x.context().constant(value, x.dtype());
  return x.context().record(Op::kPad, {x, fill}, {{Attr::kLow, low}, {Attr::kHigh, high}});
}

Tensor concatenate(std::span<const Tensor> parts, int axis, Where where) {
  LS_USER_CHECK(!parts.empty(), "{}: concatenate needs at least one tensor",
                origin_of(where).to_string());
  const LocationScope line(context_of_all(name_of(Op::kConcatenate), parts, where), where);
  Attrs attrs;
  attrs.set_int(Attr::kAxis, normal_dim(parts[0], axis));
  return parts[0].context().record(Op::kConcatenate, parts, std::move(attrs));
}

Tensor gather(const Tensor& x, const Tensor& indices, int axis, Where where) {
  const LocationScope line(name_of(Op::kGather), {&x, &indices}, where);
  return x.context().record(Op::kGather, {x, indices}, {{Attr::kAxis, {normal_dim(x, axis)}}});
}

Tensor scatter_add(const Tensor& x, const Tensor& indices, const Tensor& updates, int axis,
                   Where where) {
  const LocationScope line(name_of(Op::kScatterAdd), {&x, &indices, &updates}, where);
  return x.context().record(Op::kScatterAdd, {x, indices, updates},
                            {{Attr::kAxis, {normal_dim(x, axis)}}});
}

Tensor iota(TraceContext& context, const Shape& shape, int axis, DType dtype, Where where) {
  Attrs attrs{{Attr::kShape, shape.sizes()}, {Attr::kAxis, {axis}}};
  attrs.set_dtype(dtype);
  return context.record(Op::kIota, std::span<const Tensor>{}, std::move(attrs), where);
}

Tensor reduce(Op op, const Tensor& x, IntView dims, bool keep_dims, Where where) {
  const LocationScope line(name_of(op), {&x}, where);
  const Ints normal = normal_dims(x, dims);
  Tensor out = record1(op, x, {{Attr::kDims, normal}});
  if (!keep_dims) return out;
  Shape kept = x.shape();
  for (const std::int64_t d : normal) kept.set_dim(static_cast<int>(d), 1);
  return reshape(out, kept);
}

Tensor reduce_sum(const Tensor& x, IntView dims, bool keep_dims, Where where) {
  return reduce(Op::kReduceSum, x, dims, keep_dims, where);
}

Tensor reduce_max(const Tensor& x, IntView dims, bool keep_dims, Where where) {
  return reduce(Op::kReduceMax, x, dims, keep_dims, where);
}

Tensor sum(const Tensor& x, Where where) {
  const LocationScope line("sum", {&x}, where);
  Ints all(static_cast<std::size_t>(x.shape().rank()));
  std::iota(all.begin(), all.end(), 0);
  return reduce_sum(x, all);
}

Tensor arg_max(const Tensor& x, int axis, Where where) {
  const LocationScope line(name_of(Op::kArgMax), {&x}, where);
  return record1(Op::kArgMax, x, {{Attr::kAxis, {normal_dim(x, axis)}}});
}

Tensor dot_general(const Tensor& a, const Tensor& b, const DotSpec& spec, Where where) {
  TraceContext& context = context_of(name_of(Op::kDotGeneral), {&a, &b}, where);
  Attrs attrs{{Attr::kLhsBatch, spec.lhs_batch},
              {Attr::kRhsBatch, spec.rhs_batch},
              {Attr::kLhsContract, spec.lhs_contract},
              {Attr::kRhsContract, spec.rhs_contract}};
  if (spec.to && *spec.to != a.dtype()) attrs.set_dtype(*spec.to);
  return context.record(Op::kDotGeneral, {a, b}, std::move(attrs), where);
}

Tensor matmul(const Tensor& a, const Tensor& b, Where where) {
  const LocationScope line("matmul", {&a, &b}, where);
  LS_USER_CHECK(a.shape().rank() >= 2 && b.shape().rank() == a.shape().rank(),
                "{}: matmul of {} and {}: both need one rank of at least 2", line_of(a),
                a.type().to_string(), b.type().to_string());
  const int rank = a.shape().rank();
  Ints batch(static_cast<std::size_t>(rank - 2));
  std::iota(batch.begin(), batch.end(), 0);
  return dot_general(a, b, {batch, batch, {rank - 1}, {rank - 2}});
}

Tensor convolution(const Tensor& x, const Tensor& w, const ConvSpec& spec, Where where) {
  return context_of(name_of(Op::kConvolution), {&x, &w}, where)
      .record(Op::kConvolution, {x, w}, window_attrs(spec), where);
}

Tensor max_pool(const Tensor& x, const PoolSpec& spec, Where where) {
  return record1(Op::kMaxPool, x, window_attrs(spec), where);
}

Tensor avg_pool(const Tensor& x, const PoolSpec& spec, Where where) {
  return record1(Op::kAvgPool, x, window_attrs(spec), where);
}

Tensor random_bits(const RandomKey& key, const Shape& shape, Where where) {
  TraceContext& context =
      context_of(name_of(Op::kRandomBits), {&key.seed, &key.step, &key.micro_batch}, where);
  return context.record(Op::kRandomBits, {key.seed, key.step, key.micro_batch},
                        {{Attr::kShape, shape.sizes()}, {Attr::kStream, {context.next_stream()}}},
                        where);
}

namespace {

/// `operands`: q, k, v or qkv.
Tensor record_attention(std::vector<Tensor> operands, const AttentionSpec& spec, Where where) {
  TraceContext& context = context_of_all(name_of(Op::kAttention), operands, where);
  const LocationScope line(context, where);
  LS_USER_CHECK(!spec.key_mask || !spec.segments,
                "{}: attention takes a key_mask or segments, not both: give masked keys segment 0",
                line_of(operands[0]));
  const std::optional<Tensor>& mask = spec.segments ? spec.segments : spec.key_mask;
  Attrs attrs{{Attr::kCausal, {spec.causal ? 1 : 0}}, {Attr::kMasked, {mask ? 1 : 0}}};
  attrs.set_float(Attr::kScale, spec.scale);
  attrs.set_float(Attr::kDropout, spec.dropout);
  if (mask) operands.push_back(*mask);
  if (spec.dropout > 0) {
    LS_USER_CHECK(spec.key.has_value(), "{}: attention with dropout {} needs a random key",
                  line_of(operands[0]), spec.dropout);
    operands.insert(operands.end(), {spec.key->seed, spec.key->step, spec.key->micro_batch});
    attrs.set_int(Attr::kStream, context.next_stream());
  }
  return context.record(Op::kAttention, operands, std::move(attrs));
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionSpec& spec,
                 Where where) {
  return record_attention({q, k, v}, spec, where);
}

Tensor attention(const Tensor& qkv, const AttentionSpec& spec, Where where) {
  return record_attention({qkv}, spec, where);
}

Tensor optimization_barrier(const Tensor& x, Where where) {
  return record1(Op::kOptimizationBarrier, x, {}, where);
}

Tensor call(std::shared_ptr<const Graph> body, std::span<const Tensor> operands, Where where) {
  LS_USER_CHECK(!operands.empty(), "{}: a call needs at least one operand",
                origin_of(where).to_string());
  return context_of_all("call", operands, where).record_call(std::move(body), operands, where);
}

Tensor all_reduce(const Tensor& x, Where where) {
  return record1(Op::kAllReduce, x, {}, where);
}

Tensor replica_id(TraceContext& context, Where where) {
  return context.record(Op::kReplicaId, std::span<const Tensor>{}, {}, where);
}

Tensor reduce_scatter(const Tensor& x, std::int64_t ranks, Where where) {
  return record1(Op::kReduceScatter, x, {{Attr::kRanks, {ranks}}}, where);
}

Tensor all_gather(const Tensor& x, std::int64_t ranks, Where where) {
  return record1(Op::kAllGather, x, {{Attr::kRanks, {ranks}}}, where);
}

Tensor collective_broadcast(const Tensor& x, std::int64_t root, Where where) {
  return record1(Op::kCollectiveBroadcast, x, {{Attr::kRoot, {root}}}, where);
}

}  // namespace lockstep
