#include <algorithm>
#include <cmath>

#include "core/kernels/reference/operations.h"
#include "core/kernels/reference/strided.h"

namespace lockstep::reference {
namespace {

using Int = std::int64_t;

bool is_nan(double x) {
  return std::isnan(x);
}
bool is_nan(Int) {
  return false;
}

/// Whether `candidate` beats `best`: larger (or smaller), a NaN beats every number, and among
/// equals the first stays.
template <class T>
bool beats(T candidate, T best, bool want_largest) {
  if (is_nan(best)) return false;
  if (is_nan(candidate)) return true;
  return want_largest ? candidate > best : candidate < best;
}

/// A view of the operand's index space on the result: reduced dimensions do not move.
Strided result_view(const Shape& operand, IntView reduced, const Shape& result) {
  const std::vector<Int> own = result.strides();
  Strided view;
  std::size_t next = 0;
  for (int d = 0; d < operand.rank(); ++d) {
    const bool gone = std::find(reduced.begin(), reduced.end(), d) != reduced.end();
    view.strides.push_back(gone ? 0 : own[next++]);
  }
  return view;
}

/// Folds the reduced elements of each result, in order, into start(Range of the element type).
template <class Start, class Combine>
Value fold(const Node& node, const Value& x, const Start& start, const Combine& combine) {
  Value out = make_value(node.type);
  const Shape& shape = x.type.shape;
  const std::array<Strided, 2> views = {
      Strided{shape.strides()}, result_view(shape, node.attrs.ints(Attr::kDims), node.type.shape)};
  const auto run = [&](const auto& from, auto& to, auto range) {
    std::fill(to.begin(), to.end(), start(range));
    for_each_index(shape, views,
                   [&](std::size_t i, std::size_t o) { to[o] = combine(to[o], from[i]); });
  };
  if (x.is_real()) {
    run(x.reals(), out.reals(), real_range());
  } else {
    run(x.integers(), out.integers(), integer_range(x.type.dtype));
  }
  return out;
}

template <class T>
void arg_reduce(const Node& node, const Shape& shape, const std::vector<T>& x, Integers& to) {
  const auto axis = static_cast<int>(node.attrs.integer(Attr::kAxis));
  const bool want_largest = node.op == ReductionOp::kArgMax;
  const Int step = shape.strides()[static_cast<std::size_t>(axis)];
  Shape rows = shape;
  rows.set_dim(axis, 1);
  for_each_index<2>(rows, {Strided{shape.strides()}, result_view(shape, {axis}, node.type.shape)},
                    [&](std::size_t first, std::size_t o) {
                      const auto element = [&](Int i) {
                        return x[first + static_cast<std::size_t>(i * step)];
                      };
                      Int best = 0;
                      for (Int i = 1; i < shape[axis]; ++i)
                        if (beats(element(i), element(best), want_largest)) best = i;
                      to[o] = best;
                    });
}

}  // namespace

Value evaluate_reduce_sum(const Node& node, Operands in) {
  return fold(
      node, *in[0], [](auto) { return 0; }, [](auto a, auto b) { return add(a, b); });
}

Value evaluate_reduce_product(const Node& node, Operands in) {
  return fold(
      node, *in[0], [](auto) { return 1; }, [](auto a, auto b) { return multiply(a, b); });
}

Value evaluate_reduce_max(const Node& node, Operands in) {
  return fold(
      node, *in[0], [](auto range) { return range.lowest; },
      [](auto a, auto b) { return beats(b, a, true) ? b : a; });
}

Value evaluate_reduce_min(const Node& node, Operands in) {
  return fold(
      node, *in[0], [](auto range) { return range.highest; },
      [](auto a, auto b) { return beats(b, a, false) ? b : a; });
}

Value evaluate_arg_reduce(const Node& node, Operands in) {
  const Value& x = *in[0];
  Value out = make_value(node.type);
  std::visit([&](const auto& from) { arg_reduce(node, x.type.shape, from, out.integers()); },
             x.elements);
  return out;
}

}  // namespace lockstep::reference
