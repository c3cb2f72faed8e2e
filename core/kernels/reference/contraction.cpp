#include "core/ir/infer.h"
#include "core/kernels/reference/operations.h"
#include "core/kernels/reference/strided.h"

namespace lockstep::reference {
namespace {

using Int = std::int64_t;

template <class... Groups>
std::vector<Int> in_order(const Groups&... groups) {
  std::vector<Int> out;
  (out.insert(out.end(), groups.begin(), groups.end()), ...);
  return out;
}

/// The elements of an operand with its dimensions in this order.
template <class T>
std::vector<T> pack(const Shape& shape, const std::vector<T>& elements, IntView dims) {
  const std::vector<Int> own = shape.strides();
  Shape order;
  Strided view;
  for (const Int d : dims) {
    order.push_back(shape[static_cast<int>(d)]);
    view.strides.push_back(own[static_cast<std::size_t>(d)]);
  }
  std::vector<T> out;
  out.reserve(elements.size());
  for_each_index<1>(order, {view}, [&](std::size_t i) { out.push_back(elements[i]); });
  return out;
}

/// result[b,i,j] = sum over k of lhs[b,i,k] * rhs[b,k,j], added in order of k. A row's sums grow
/// side by side, so that no addition waits for the one before it.
template <class T>
std::vector<T> multiply_packed(const DotDims& dims, const std::vector<T>& lhs,
                               const std::vector<T>& rhs) {
  std::vector<T> out(static_cast<std::size_t>(dims.batch * dims.m * dims.n), T{0});
  for (Int b = 0; b < dims.batch; ++b)
    for (Int i = 0; i < dims.m; ++i) {
      T* const sums = out.data() + (b * dims.m + i) * dims.n;
      for (Int k = 0; k < dims.k; ++k) {
        const T factor = lhs[static_cast<std::size_t>((b * dims.m + i) * dims.k + k)];
        const T* const row = rhs.data() + (b * dims.k + k) * dims.n;
        for (Int j = 0; j < dims.n; ++j) sums[j] = add(sums[j], multiply(factor, row[j]));
      }
    }
  return out;
}

}  // namespace

Value evaluate_dot_general(const Node& node, Operands in) {
  const Value& lhs = *in[0];
  const Value& rhs = *in[1];
  const Attrs& attrs = node.attrs;
  const DotDims dims = dot_dims(lhs.type, rhs.type, attrs);
  const std::vector<Int> lhs_order =
      in_order(attrs.ints(Attr::kLhsBatch), dims.lhs_free, attrs.ints(Attr::kLhsContract));
  const std::vector<Int> rhs_order =
      in_order(attrs.ints(Attr::kRhsBatch), attrs.ints(Attr::kRhsContract), dims.rhs_free);
  const auto contract = [&](const auto& a, const auto& b) {
    return multiply_packed(dims, pack(lhs.type.shape, a, lhs_order),
                           pack(rhs.type.shape, b, rhs_order));
  };
  // The sum has the operands' wide type; the result may have another dtype.
  Value sum{{lhs.is_real() ? DType::kF64 : DType::kI64, node.type.shape}, Reals{}};
  if (lhs.is_real()) {
    sum.elements = contract(lhs.reals(), rhs.reals());
  } else {
    sum.elements = contract(lhs.integers(), rhs.integers());
  }
  const Value* const operand = &sum;
  return evaluate_convert(node, {&operand, 1});
}

}  // namespace lockstep::reference
