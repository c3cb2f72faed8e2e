#include <algorithm>

#include "core/kernels/reference/operations.h"
#include "core/kernels/reference/strided.h"

namespace lockstep::reference {
namespace {

using Int = std::int64_t;
using Ints = std::vector<Int>;

/// to[each index of `shape` through to_view] = from[the same index through from_view].
void copy(const Shape& shape, const Value& from, const Strided& from_view, Value& to,
          const Strided& to_view) {
  std::visit(
      [&](auto& target) {
        const auto& source = std::get<std::decay_t<decltype(target)>>(from.elements);
        for_each_index<2>(shape, {from_view, to_view},
                          [&](std::size_t i, std::size_t o) { target[o] = source[i]; });
      },
      to.elements);
}

Strided dense(const Shape& shape) {
  return {shape.strides()};
}

/// The block of a tensor of `shape` that begins at index `start`.
Strided block_at(const Shape& shape, IntView start) {
  Strided view = dense(shape);
  for (std::size_t d = 0; d < start.size(); ++d) view.start += start[d] * view.strides[d];
  return view;
}

/// Start indices clamped so that a block of shape `block` fits into `whole`.
Ints clamped_starts(Operands starts, const Shape& whole, const Shape& block) {
  Ints out;
  for (int d = 0; d < whole.rank(); ++d)
    out.push_back(std::clamp<Int>(starts[static_cast<std::size_t>(d)]->integers()[0], 0,
                                  whole[d] - block[d]));
  return out;
}

/// x of gather and scatter_add as [before, size, after] around the axis.
struct AxisView {
  AxisView(const Shape& x, Int axis) : size(x[static_cast<int>(axis)]) {
    for (int d = 0; d < x.rank(); ++d) {
      if (d < axis) before *= x[d];
      if (d > axis) after *= x[d];
    }
  }
  Int before = 1;
  Int size;
  Int after = 1;
};

/// visit(element of x, element of the gathered tensor) for every pair that gather connects, in
/// ascending order of the latter.
template <class Visit>
void for_each_gathered(const Node& node, const Value& x, const Integers& indices,
                       const Visit& visit) {
  const AxisView view(x.type.shape, node.attrs.integer(Attr::kAxis));
  std::size_t gathered = 0;
  for (Int b = 0; b < view.before; ++b)
    for (const Int index : indices) {
      const Int valid = std::clamp<Int>(index, 0, std::max<Int>(view.size - 1, 0));
      auto element = static_cast<std::size_t>((b * view.size + valid) * view.after);
      for (Int a = 0; a < view.after; ++a) visit(element++, gathered++);
    }
}

}  // namespace

Value evaluate_broadcast(const Node& node, Operands in) {
  const Shape& from = in[0]->type.shape;
  const Shape& to = node.type.shape;
  const Ints own = from.strides();
  Strided repeated{Ints(static_cast<std::size_t>(to.rank()), 0)};
  for (int d = 0; d < from.rank(); ++d) {
    const auto dim =
        static_cast<std::size_t>(node.attrs.ints(Attr::kDims)[static_cast<std::size_t>(d)]);
    repeated.strides[dim] = from[d] == 1 ? 0 : own[static_cast<std::size_t>(d)];
  }
  Value out = make_value(node.type);
  copy(to, *in[0], repeated, out, dense(to));
  return out;
}

Value evaluate_reshape(const Node& node, Operands in) {
  return {node.type, in[0]->elements};
}

Value evaluate_transpose(const Node& node, Operands in) {
  const Ints own = in[0]->type.shape.strides();
  Strided permuted;
  for (const Int d : node.attrs.ints(Attr::kDims))
    permuted.strides.push_back(own[static_cast<std::size_t>(d)]);
  Value out = make_value(node.type);
  copy(node.type.shape, *in[0], permuted, out, dense(node.type.shape));
  return out;
}

Value evaluate_slice(const Node& node, Operands in) {
  Strided view = block_at(in[0]->type.shape, node.attrs.ints(Attr::kStart));
  for (std::size_t d = 0; d < view.strides.size(); ++d)
    view.strides[d] *= node.attrs.ints(Attr::kStride)[d];
  Value out = make_value(node.type);
  copy(node.type.shape, *in[0], view, out, dense(node.type.shape));
  return out;
}

Value evaluate_dynamic_slice(const Node& node, Operands in) {
  const Shape& whole = in[0]->type.shape;
  const Shape& block = node.type.shape;
  Value out = make_value(node.type);
  copy(block, *in[0], block_at(whole, clamped_starts(in.subspan(1), whole, block)), out,
       dense(block));
  return out;
}

Value evaluate_dynamic_update_slice(const Node& node, Operands in) {
  const Shape& whole = in[0]->type.shape;
  const Shape& block = in[1]->type.shape;
  Value out{node.type, in[0]->elements};
  copy(block, *in[1], dense(block), out,
       block_at(whole, clamped_starts(in.subspan(2), whole, block)));
  return out;
}

Value evaluate_pad(const Node& node, Operands in) {
  Value out = make_value(node.type);
  std::visit(
      [&](auto& to) {
        const auto& value = std::get<std::decay_t<decltype(to)>>(in[1]->elements);
        std::fill(to.begin(), to.end(), value[0]);
      },
      out.elements);
  const Shape& inner = in[0]->type.shape;
  copy(inner, *in[0], dense(inner), out, block_at(node.type.shape, node.attrs.ints(Attr::kLow)));
  return out;
}

Value evaluate_concatenate(const Node& node, Operands in) {
  const auto axis = static_cast<std::size_t>(node.attrs.integer(Attr::kAxis));
  Value out = make_value(node.type);
  Ints start(static_cast<std::size_t>(node.type.shape.rank()), 0);
  for (const Value* part : in) {
    const Shape& shape = part->type.shape;
    copy(shape, *part, dense(shape), out, block_at(node.type.shape, start));
    start[axis] += shape[static_cast<int>(axis)];
  }
  return out;
}

Value evaluate_gather(const Node& node, Operands in) {
  Value out = make_value(node.type);
  std::visit(
      [&](auto& to) {
        const auto& x = std::get<std::decay_t<decltype(to)>>(in[0]->elements);
        for_each_gathered(node, *in[0], in[1]->integers(),
                          [&](std::size_t i, std::size_t o) { to[o] = x[i]; });
      },
      out.elements);
  return out;
}

Value evaluate_scatter_add(const Node& node, Operands in) {
  Value out{node.type, in[0]->elements};
  std::visit(
      [&](auto& to) {
        const auto& updates = std::get<std::decay_t<decltype(to)>>(in[2]->elements);
        for_each_gathered(node, *in[0], in[1]->integers(),
                          [&](std::size_t i, std::size_t o) { to[i] = add(to[i], updates[o]); });
      },
      out.elements);
  return out;
}

}  // namespace lockstep::reference
