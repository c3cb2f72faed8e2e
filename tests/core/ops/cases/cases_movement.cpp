#include <algorithm>

#include "tests/core/ops/cases/case_makers.h"

namespace lockstep {
namespace {

using AttrInts = Attrs::Ints;

const std::vector<DType> kIndexes = {DType::kI32, DType::kI64};

/// The size of a block within a dimension of `most`: at times nothing, usually something.
std::int64_t part_of(Draw& draw, std::int64_t max) {
  if (draw.is_large()) return draw.integer((max + 1) / 2, max);
  return max == 0 || draw.integer(0, 19) == 0 ? 0 : draw.integer(1, max);
}

Shape block_of(Draw& draw, const Shape& whole) {
  Shape out;
  for (int d = 0; d < whole.rank(); ++d) out.push_back(part_of(draw, whole[d]));
  return out;
}

/// One start per dimension, also where the block would not fit.
void add_starts(Draw& draw, const Shape& whole, std::vector<HostTensor>& operands) {
  for (int d = 0; d < whole.rank(); ++d)
    operands.push_back(HostTensor::scalar(draw.integer(-2, whole[d] + 2)));
}

/// Indices along an axis of `size`, out of range too; none if the axis is empty.
HostTensor indices_of(Draw& draw, std::int64_t size) {
  Shape shape;
  const auto rank = static_cast<int>(draw.integer(0, 2));
  for (int d = 0; d < rank; ++d)
    shape.push_back(draw.size(0, draw.for_gradient() || draw.is_large() ? 4 : 12));
  if (size == 0 && shape.elements() > 0) shape = Shape{0};
  return draw.integers(draw.pick(kIndexes), shape, -2, size + 1);
}

}  // namespace

OpCase make_iota(Op op, Draw& draw) {
  const Shape shape = draw.shape(1, 4);
  OpCase c{op, {}, {}, nullptr};
  c.attrs.set(Attr::kShape, shape.sizes());
  c.attrs.set_int(Attr::kAxis, draw.integer(0, shape.rank() - 1));
  c.attrs.set_dtype(draw.dtype(kNumbers));
  return c;
}

OpCase make_random_bits(Op op, Draw& draw) {
  OpCase c{op, {}, {}, nullptr};
  for (int i = 0; i < 3; ++i)
    c.operands.push_back(HostTensor::scalar(draw.integer(0, std::int64_t{1} << 40)));
  c.attrs.set(Attr::kShape, draw.shape().sizes());
  c.attrs.set_int(Attr::kStream, draw.integer(INT64_MIN, INT64_MAX));
  return c;
}

OpCase make_broadcast(Op op, Draw& draw) {
  const Shape to = draw.shape();
  AttrInts dims;
  Shape from;
  for (int d = 0; d < to.rank(); ++d) {
    if (draw.flip()) continue;
    dims.push_back(d);
    from.push_back(draw.integer(0, 2) == 0 ? 1 : to[d]);
  }
  return {op,
          {{Attr::kShape, to.sizes()}, {Attr::kDims, dims}},
          {draw.tensor(draw.dtype(kAllDTypes), from)},
          nullptr};
}

OpCase make_reshape(Op op, Draw& draw) {
  const Shape from = draw.shape();
  // Two neighbours become one, and a 1 comes in somewhere.
  AttrInts to(from.sizes().begin(), from.sizes().end());
  if (to.size() >= 2) {
    const auto at = draw.integer(0, static_cast<std::int64_t>(to.size()) - 2);
    to[static_cast<std::size_t>(at)] *= to[static_cast<std::size_t>(at) + 1];
    to.erase(to.begin() + at + 1);
  }
  to.insert(to.begin() + draw.integer(0, static_cast<std::int64_t>(to.size())), 1);
  return {op, {{Attr::kShape, to}}, {draw.tensor(draw.dtype(kAllDTypes), from)}, nullptr};
}

OpCase make_transpose(Op op, Draw& draw) {
  const HostTensor x = draw.tensor(draw.dtype(kAllDTypes), draw.shape());
  return {op, {{Attr::kDims, draw.permutation(x.shape().rank())}}, {x}, nullptr};
}

OpCase make_slice(Op op, Draw& draw) {
  const HostTensor x = draw.tensor(draw.dtype(kAllDTypes), draw.shape());
  AttrInts start, limit, stride;
  for (int d = 0; d < x.shape().rank(); ++d) {
    const std::int64_t size = x.shape()[d];
    const std::int64_t part = part_of(draw, size);
    start.push_back(draw.integer(0, size - part));
    limit.push_back(start.back() + part);
    stride.push_back(draw.flip() ? 1 : draw.integer(1, 3));
  }
  return {
      op, {{Attr::kStart, start}, {Attr::kLimit, limit}, {Attr::kStride, stride}}, {x}, nullptr};
}

OpCase make_dynamic_slice(Op op, Draw& draw) {
  const HostTensor x = draw.tensor(draw.dtype(kAllDTypes), draw.shape());
  OpCase c{op, {{Attr::kShape, block_of(draw, x.shape()).sizes()}}, {x}, nullptr};
  add_starts(draw, x.shape(), c.operands);
  return c;
}

OpCase make_dynamic_update_slice(Op op, Draw& draw) {
  const HostTensor x = draw.tensor(draw.dtype(kAllDTypes), draw.shape());
  OpCase c{op, {}, {x, draw.tensor(x.dtype(), block_of(draw, x.shape()))}, nullptr};
  add_starts(draw, x.shape(), c.operands);
  return c;
}

OpCase make_pad(Op op, Draw& draw) {
  const HostTensor x = draw.tensor(draw.dtype(kAllDTypes), draw.shape());
  AttrInts low, high;
  for (int d = 0; d < x.shape().rank(); ++d) {
    low.push_back(draw.integer(0, 3));
    high.push_back(draw.integer(0, 3));
  }
  return {
      op, {{Attr::kLow, low}, {Attr::kHigh, high}}, {x, draw.tensor(x.dtype(), Shape{})}, nullptr};
}

OpCase make_concatenate(Op op, Draw& draw) {
  const DType dtype = draw.dtype(kAllDTypes);
  const Shape first = draw.shape(1, 4);
  const auto axis = static_cast<int>(draw.integer(0, first.rank() - 1));
  OpCase c{op, {{Attr::kAxis, {axis}}}, {draw.tensor(dtype, first)}, nullptr};
  for (std::int64_t parts = draw.integer(0, 3); parts > 0; --parts) {
    Shape shape = first;
    shape.set_dim(axis, part_of(draw, first[axis]));
    c.operands.push_back(draw.tensor(dtype, shape));
  }
  return c;
}

OpCase make_gather(Op op, Draw& draw) {
  const HostTensor x = draw.tensor(draw.dtype(kAllDTypes), draw.shape(1, 3));
  const std::int64_t axis = draw.integer(0, x.shape().rank() - 1);
  return {op,
          {{Attr::kAxis, {axis}}},
          {x, indices_of(draw, x.shape()[static_cast<int>(axis)])},
          nullptr};
}

OpCase make_scatter_add(Op op, Draw& draw) {
  const HostTensor x = draw.tensor(draw.dtype(kNumbers), draw.shape(1, 3), Fill::kUnit);
  const std::int64_t axis = draw.integer(0, x.shape().rank() - 1);
  const HostTensor indices = indices_of(draw, x.shape()[static_cast<int>(axis)]);
  const OpCase gather{Op::kGather, {{Attr::kAxis, {axis}}}, {x, indices}, nullptr};
  const Shape updates = gather.node().type.shape;
  return {op,
          {{Attr::kAxis, {axis}}},
          {x, indices, draw.tensor(x.dtype(), updates, Fill::kUnit)},
          nullptr};
}

}  // namespace lockstep
