#include <algorithm>

#include "tests/graphs/random_steps.h"

namespace lockstep::testing {
namespace {

using Int = std::int64_t;

ValueId any_value(GraphBuilder& b, int min_rank) {
  const auto found = b.find([&](ValueId id) { return b.shape_of(id).rank() >= min_rank; });
  if (found && !b.chance(5)) return *found;
  return b.fresh(b.main_float(), b.shape(min_rank, 3));
}

void add_broadcast(GraphBuilder& b) {
  const ValueId x = any_value(b, 0);
  const Shape from = b.shape_of(x);
  if (from.rank() > 3) throw Refused{};
  Shape to;
  std::vector<Int> dims;
  for (int d = 0; d <= from.rank(); ++d) {
    if (b.chance(45)) to.push_back(b.size());
    if (d == from.rank()) break;
    dims.push_back(to.rank());
    to.push_back(from[d] == 1 ? b.size() : from[d]);
  }
  b.broadcast(x, to, dims);
}

void add_reshape(GraphBuilder& b) {
  const ValueId x = any_value(b, 0);
  const Shape from = b.shape_of(x);
  Shape to;
  if (b.chance(30)) {
    to.push_back(from.elements());
  } else if (b.chance(50) && from.rank() >= 2) {  // join two dimensions
    const auto at = static_cast<int>(b.pick(0, from.rank() - 2));
    for (int d = 0; d < from.rank(); ++d) {
      if (d == at) {
        to.push_back(from[d] * from[d + 1]);
        ++d;
      } else {
        to.push_back(from[d]);
      }
    }
  } else {  // split dimensions at their smallest factors, insert ones
    for (int d = 0; d < from.rank(); ++d) {
      Int factor = 2;
      while (factor < from[d] && from[d] % factor != 0) ++factor;
      if (b.chance(50) && from[d] > factor) {
        to.push_back(from[d] / factor);
        to.push_back(factor);
      } else {
        to.push_back(from[d]);
      }
    }
    if (b.chance(30)) to.push_back(1);
  }
  b.reshape(x, to);
}

void add_slice(GraphBuilder& b) {
  const ValueId x = any_value(b, 1);
  Attrs::Ints start, limit, stride;
  const Shape from = b.shape_of(x);
  for (const Int size : from.sizes()) {
    start.push_back(b.chance(50) ? 0 : b.pick(0, size));
    limit.push_back(b.chance(50) ? size : b.pick(start.back(), size));
    stride.push_back(b.chance(75) ? 1 : b.pick(2, 3));
  }
  b.add(Op::kSlice, {x}, {{Attr::kStart, start}, {Attr::kLimit, limit}, {Attr::kStride, stride}});
}

std::vector<ValueId> starts(GraphBuilder& b, int rank) {
  std::vector<ValueId> out;
  for (int d = 0; d < rank; ++d)
    out.push_back(b.chance(40) ? b.scalar(DType::kI64, static_cast<double>(b.pick(0, 5)))
                               : b.fresh_integers({DType::kI64, Shape{}}, -2, 20));
  return out;
}

Shape part_of(GraphBuilder& b, const Shape& whole) {
  Shape out;
  for (const Int size : whole.sizes()) out.push_back(b.chance(40) ? size : b.pick(size > 0, size));
  return out;
}

void add_dynamic(GraphBuilder& b, Op op) {
  const ValueId x = any_value(b, 1);
  const Shape part = part_of(b, b.shape_of(x));
  const std::vector<ValueId> at = starts(b, part.rank());
  std::vector<ValueId> operands = {x};
  Attrs attrs;
  if (op == Op::kDynamicSlice) {
    attrs.set(Attr::kShape, part.sizes());
  } else {
    operands.push_back(b.fresh(b.type(x).dtype, part));
  }
  operands.insert(operands.end(), at.begin(), at.end());
  b.add(op, operands, attrs);
}

void add_pad(GraphBuilder& b) {
  const ValueId x = any_value(b, 1);
  const DType dtype = b.type(x).dtype;
  Attrs::Ints low, high;
  for (int d = 0; d < b.shape_of(x).rank(); ++d) {
    low.push_back(b.chance(40) ? 0 : b.pick(0, 3));
    high.push_back(b.chance(40) ? 0 : b.pick(0, 3));
  }
  const ValueId value =
      b.chance(70) ? b.scalar(dtype, static_cast<double>(b.pick(0, 2))) : b.fresh(dtype, Shape{});
  b.add(Op::kPad, {x, value}, {{Attr::kLow, low}, {Attr::kHigh, high}});
}

void add_concatenate(GraphBuilder& b) {
  const ValueId x = any_value(b, 1);
  const Int axis = b.pick(0, b.shape_of(x).rank() - 1);
  std::vector<ValueId> parts = {x};
  const Int count = b.pick(1, 3);
  for (Int i = 0; i < count; ++i) {
    const auto found = b.find([&](ValueId id) {
      Shape shape = b.shape_of(id);
      if (b.type(id).dtype != b.type(x).dtype || shape.rank() != b.shape_of(x).rank()) return false;
      shape.set_dim(static_cast<int>(axis), b.shape_of(x)[static_cast<int>(axis)]);
      return shape == b.shape_of(x);
    });
    parts.push_back(found ? *found : x);
  }
  b.add(Op::kConcatenate, parts, {{Attr::kAxis, {axis}}});
}

/// Indices into an axis of this size: in range, or at times beyond it, where they are clamped.
ValueId indices(GraphBuilder& b, Int size, const Shape& shape) {
  const DType dtype = b.chance(60) ? DType::kI32 : DType::kI64;
  const Int beyond = b.chance(30) ? 3 : 0;
  return b.fresh_integers({dtype, shape}, -beyond, std::max<Int>(size - 1, 0) + beyond);
}

void add_gather(GraphBuilder& b) {
  const ValueId x = any_value(b, 1);
  const Int axis = b.chance(60) ? 0 : b.pick(0, b.shape_of(x).rank() - 1);
  const ValueId at = indices(b, b.shape_of(x)[static_cast<int>(axis)], b.shape(0, 2));
  b.add(Op::kGather, {x, at}, {{Attr::kAxis, {axis}}});
}

void add_scatter_add(GraphBuilder& b) {
  const ValueId x = any_number(b, 1);
  const Shape into = b.shape_of(x);
  const auto axis = static_cast<int>(b.chance(60) ? 0 : b.pick(0, into.rank() - 1));
  const ValueId at = indices(b, into[axis], b.shape(0, 2));
  Shape updates;
  for (int d = 0; d < axis; ++d) updates.push_back(into[d]);
  const Shape places = b.shape_of(at);
  for (const Int size : places.sizes()) updates.push_back(size);
  for (int d = axis + 1; d < into.rank(); ++d) updates.push_back(into[d]);
  const Type wanted{b.type(x).dtype, updates};
  const auto found = b.find([&](ValueId id) { return b.type(id) == wanted; });
  const ValueId added = found ? *found : b.fresh(wanted.dtype, wanted.shape);
  b.add(Op::kScatterAdd, {x, at, added}, {{Attr::kAxis, {axis}}});
}

}  // namespace

void add_random_movement(GraphBuilder& b, Op op) {
  switch (as<MovementOp>(op)) {
    case Op::kBroadcast: return add_broadcast(b);
    case Op::kReshape: return add_reshape(b);
    case Op::kTranspose: {
      const ValueId x = any_value(b, 1);
      b.add(op, {x}, {{Attr::kDims, b.permutation(b.shape_of(x).rank())}});
      return;
    }
    case Op::kSlice: return add_slice(b);
    case Op::kDynamicSlice:
    case Op::kDynamicUpdateSlice: return add_dynamic(b, op);
    case Op::kPad: return add_pad(b);
    case Op::kConcatenate: return add_concatenate(b);
    case Op::kGather: return add_gather(b);
    case Op::kScatterAdd: return add_scatter_add(b);
  }
}

}  // namespace lockstep::testing
