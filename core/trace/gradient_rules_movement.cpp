#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/trace/context.h"
#include "core/trace/gradient_rule.h"

namespace lockstep {
namespace {

Tensor zeros_like(const Tensor& x) {
  return x.context().filled(0.0, x.type());
}

/// A reduced value (dims removed) repeated over the operand's shape.
Tensor spread(const Tensor& reduced, const Shape& shape, IntView dims) {
  Ints kept;
  for (int i = 0; i < shape.rank(); ++i)
    if (std::find(dims.begin(), dims.end(), i) == dims.end()) kept.push_back(i);
  return broadcast_in_dim(reduced, shape, kept);
}

/// Gradient of the product: all elements but one multiplied, by prefix and suffix products along
/// the reduced elements, so that zeros are handled exactly.
Tensor gradient_product(const GradientCall& c, IntView dims) {
  const Tensor& x = c.in[0];
  const Tensor grad = spread(c.grad, x.shape(), dims);
  // Move the reduced dimensions to the end and flatten them.
  Ints order;
  for (int i = 0; i < x.shape().rank(); ++i)
    if (std::find(dims.begin(), dims.end(), i) == dims.end()) order.push_back(i);
  std::int64_t rows = 1;
  for (const std::int64_t d : order) rows *= x.size(static_cast<int>(d));
  order.insert(order.end(), dims.begin(), dims.end());
  const Tensor ordered = transpose(x, order);
  const std::int64_t n = rows == 0 ? 0 : x.shape().elements() / rows;
  if (n == 0) return zeros_like(x);
  const Tensor flat = reshape(ordered, Shape{rows, n});
  // others[i] = product of row elements j != i: a [rows, n, n] product with the diagonal set to 1.
  const Shape cube{rows, n, n};
  const Tensor repeated = broadcast_in_dim(flat, cube, {0, 2});
  TraceContext& context = x.context();
  const Tensor diagonal =
      equal(iota(context, cube, 1, DType::kI32), iota(context, cube, 2, DType::kI32));
  const Tensor others = reduce(Op::kReduceProduct, select(diagonal, 1.0, repeated), {2});
  Ints inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return grad * transpose(reshape(others, ordered.shape()), inverse);
}

}  // namespace

Gradients gradient_broadcast(const GradientCall& c) {
  const auto dims = c.node.attrs.ints(Attr::kDims);
  const Shape& from = c.in[0].shape();
  Ints summed;
  for (int i = 0; i < c.out.shape().rank(); ++i) {
    const auto at = std::find(dims.begin(), dims.end(), i);
    const bool repeated = at == dims.end() || from[static_cast<int>(at - dims.begin())] == 1;
    if (repeated) summed.push_back(i);
  }
  return {reshape(reduce_sum(c.grad, summed), from)};
}

Gradients gradient_reshape(const GradientCall& c) {
  return {reshape(c.grad, c.in[0].shape())};
}

Gradients gradient_transpose(const GradientCall& c) {
  const auto dims = c.node.attrs.ints(Attr::kDims);
  Ints inverse(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i)
    inverse[static_cast<std::size_t>(dims[i])] = static_cast<std::int64_t>(i);
  return {transpose(c.grad, inverse)};
}

/// Elements of dimension i `stride` apart, with zeros behind each, but for those beyond `most`.
Tensor spread_apart(const Tensor& taken, int i, std::int64_t stride, std::int64_t max_size) {
  const Shape& shape = taken.shape();
  if (stride == 1 || shape[i] <= 1) return taken;
  std::int64_t before = 1, behind = 1;
  for (int d = 0; d < shape.rank(); ++d)
    if (d != i) (d < i ? before : behind) *= shape[d];
  const Tensor apart = reshape(taken, Shape{before, shape[i], 1, behind});
  Shape wide = shape;
  wide.set_dim(i, shape[i] * stride);
  const Tensor out = reshape(pad(apart, 0.0, Ints{0, 0, 0, 0}, Ints{0, 0, stride - 1, 0}), wide);
  return wide[i] > max_size ? slice_dim(out, i, 0, max_size) : out;
}

Gradients gradient_slice(const GradientCall& c) {
  const auto start = c.node.attrs.ints(Attr::kStart);
  const auto stride = c.node.attrs.ints(Attr::kStride);
  const Shape& from = c.in[0].shape();
  Tensor grad = c.grad;
  Ints high(start.size());
  for (int i = from.rank() - 1; i >= 0; --i) {
    const auto k = static_cast<std::size_t>(i);
    grad = spread_apart(grad, i, stride[k], from[i] - start[k]);
    high[k] = from[i] - start[k] - grad.size(i);
  }
  return {pad(grad, 0.0, start, high)};
}

Gradients gradient_dynamic_slice(const GradientCall& c) {
  Gradients out(c.in.size());
  const std::span<const Tensor> starts(c.in.begin() + 1, c.in.end());
  out[0] = dynamic_update_slice(zeros_like(c.in[0]), c.grad, starts);
  return out;
}

Gradients gradient_dynamic_update_slice(const GradientCall& c) {
  Gradients out(c.in.size());
  const std::span<const Tensor> starts(c.in.begin() + 2, c.in.end());
  out[0] = dynamic_update_slice(c.grad, zeros_like(c.in[1]), starts);
  out[1] = dynamic_slice(c.grad, starts, c.in[1].shape());
  return out;
}

Gradients gradient_pad(const GradientCall& c) {
  const auto low = c.node.attrs.ints(Attr::kLow);
  Ints limit;
  for (int i = 0; i < c.in[0].shape().rank(); ++i)
    limit.push_back(low[static_cast<std::size_t>(i)] + c.in[0].size(i));
  const Tensor inner = slice(c.grad, low, limit, Ints(low.size(), 1));
  return {inner, c.needed[1] ? sum(c.grad) - sum(inner) : Tensor()};
}

Gradients gradient_concatenate(const GradientCall& c) {
  const int axis = static_cast<int>(c.node.attrs.integer(Attr::kAxis));
  Gradients out;
  std::int64_t at = 0;
  for (const Tensor& part : c.in) {
    out.push_back(slice_dim(c.grad, axis, at, at + part.size(axis)));
    at += part.size(axis);
  }
  return out;
}

Gradients gradient_gather(const GradientCall& c) {
  const int axis = static_cast<int>(c.node.attrs.integer(Attr::kAxis));
  return {scatter_add(zeros_like(c.in[0]), c.in[1], c.grad, axis), Tensor()};
}

Gradients gradient_scatter_add(const GradientCall& c) {
  const int axis = static_cast<int>(c.node.attrs.integer(Attr::kAxis));
  return {c.grad, Tensor(), c.needed[2] ? gather(c.grad, c.in[1], axis) : Tensor()};
}

Gradients gradient_reduce(const GradientCall& c) {
  const auto dims = c.node.attrs.ints(Attr::kDims);
  const Shape& shape = c.in[0].shape();
  if (c.node.op == Op::kReduceSum) return {spread(c.grad, shape, dims)};
  if (c.node.op == Op::kReduceProduct) return {gradient_product(c, dims)};
  const Tensor chosen = convert(equal(c.in[0], spread(c.out, shape, dims)), c.grad.dtype());
  const Tensor share = c.grad / reduce_sum(chosen, dims);
  return {chosen * spread(share, shape, dims)};
}

}  // namespace lockstep
