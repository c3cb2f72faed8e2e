#include "core/ir/infer.h"
#include "core/kernels/reference/operations.h"
#include "core/kernels/reference/strided.h"

namespace lockstep::reference {
namespace {

using Int = std::int64_t;

/// The elements of an operand with its dimensions reordered to [batch..., free..., contract...].
template <class T>
std::vector<T> pack(const Shape& shape, const std::vector<T>& elements, IntView batch,
                    ArrayRef<int> free, IntView contract) {
  const std::vector<Int> own = shape.strides();
  Shape order;
  Strided view;
  const auto append = [&](Int d) {
    order.push_back(shape[static_cast<int>(d)]);
    view.strides.push_back(own[static_cast<std::size_t>(d)]);
  };
  for (const Int d : batch) append(d);
  for (const int d : free) append(d);
  for (const Int d : contract) append(d);
  std::vector<T> out;
  out.reserve(elements.size());
  for_each_index<1>(order, {view}, [&](std::size_t i) { out.push_back(elements[i]); });
  return out;
}

/// result[b,i,j] = sum over k of lhs[b,i,k] * rhs[b,j,k].
template <class T>
std::vector<T> multiply_packed(const DotDims& dims, const std::vector<T>& lhs,
                               const std::vector<T>& rhs) {
  std::vector<T> out;
  out.reserve(static_cast<std::size_t>(dims.batch * dims.m * dims.n));
  for (Int b = 0; b < dims.batch; ++b)
    for (Int i = 0; i < dims.m; ++i)
      for (Int j = 0; j < dims.n; ++j) {
        const T* row = lhs.data() + (b * dims.m + i) * dims.k;
        const T* column = rhs.data() + (b * dims.n + j) * dims.k;
        T sum = 0;
        for (Int k = 0; k < dims.k; ++k) sum = add(sum, multiply(row[k], column[k]));
        out.push_back(sum);
      }
  return out;
}

}  // namespace

Value evaluate_dot_general(const Node& node, Operands in) {
  const Value& lhs = *in[0];
  const Value& rhs = *in[1];
  const Attrs& attrs = node.attrs;
  const DotDims dims = dot_dims(lhs.type, rhs.type, attrs);
  const auto contract = [&](const auto& a, const auto& b) {
    return multiply_packed(dims,
                           pack(lhs.type.shape, a, attrs.ints(Attr::kLhsBatch), dims.lhs_free,
                                attrs.ints(Attr::kLhsContract)),
                           pack(rhs.type.shape, b, attrs.ints(Attr::kRhsBatch), dims.rhs_free,
                                attrs.ints(Attr::kRhsContract)));
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
