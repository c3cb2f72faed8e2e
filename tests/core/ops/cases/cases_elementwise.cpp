#include <cmath>
#include <limits>

#include "tests/core/ops/cases/case_makers.h"

namespace lockstep {
namespace {

HostTensor map(const HostTensor& x, double (*f)(double)) {
  std::vector<double> elements = to_doubles(x);
  for (double& element : elements) element = f(element);
  return from_doubles(x.dtype(), x.shape(), elements);
}

double well_above_zero(double x) {
  return std::abs(x) + 0.5;
}
double far_from_zero(double x) {
  return x + std::copysign(0.5, x);
}

const std::vector<DType>& unary_dtypes(Op op) {
  if (op == Op::kNegate || op == Op::kAbs || op == Op::kSign) return kNumbers;
  return op == Op::kNot ? kNonFloats : kFloats;
}

bool is_shift(Op op) {
  return op == Op::kShiftLeft || op == Op::kShiftRightLogical;
}

const std::vector<DType>& binary_dtypes(Op op) {
  if (op == Op::kPower) return kFloats;
  if (op == Op::kAnd || op == Op::kOr || op == Op::kXor) return kNonFloats;
  return is_shift(op) ? kIntegers : kNumbers;
}

/// Moves operands of kGradient cases to where the op is smooth.
void condition(OpCase& c, Draw& draw) {
  HostTensor& a = c.operands[0];
  if (!is_float(a.dtype())) return;
  if (c.op == Op::kLog || c.op == Op::kSqrt || c.op == Op::kRsqrt || c.op == Op::kPower)
    a = map(a, well_above_zero);
  if (c.operands.size() < 2) return;
  HostTensor& b = c.operands[1];
  if (c.op == Op::kDivide || c.op == Op::kRemainder) b = map(b, far_from_zero);
  // The two grids of kDistinct are moved apart, so that no pair of elements is equal.
  b = map(b, [](double x) { return x + 0.05; });
  if (c.op != Op::kRemainder) return;
  // The quotient keeps away from integers.
  std::vector<double> dividends = to_doubles(b);
  for (double& x : dividends)
    x *= static_cast<double>(draw.integer(-3, 3)) + draw.uniform(0.2, 0.8);
  a = from_doubles(a.dtype(), a.shape(), dividends);
}

}  // namespace

OpCase make_unary(Op op, Draw& draw) {
  OpCase c{op, {}, {draw.tensor(draw.dtype(unary_dtypes(op)), draw.shape())}, nullptr};
  if (draw.for_gradient()) condition(c, draw);
  return c;
}

OpCase make_binary(Op op, Draw& draw) {
  const DType dtype = draw.dtype(binary_dtypes(op));
  const Shape shape = draw.shape();
  OpCase c{op, {}, {draw.tensor(dtype, shape), draw.tensor(dtype, shape)}, nullptr};
  if (is_shift(op)) c.operands[1] = draw.integers(dtype, shape, dtype == DType::kU8 ? 0 : -2, 70);
  if (draw.for_gradient()) condition(c, draw);
  return c;
}

OpCase make_compare(Op op, Draw& draw) {
  const DType dtype = draw.dtype(kAllDTypes);
  const Shape shape = draw.shape();
  OpCase c{op, {}, {draw.tensor(dtype, shape), draw.tensor(dtype, shape)}, nullptr};
  if (draw.for_gradient()) condition(c, draw);
  return c;
}

OpCase make_select(Op op, Draw& draw) {
  const DType dtype = draw.dtype(kAllDTypes);
  const Shape shape = draw.shape();
  return {op,
          {},
          {draw.tensor(DType::kBool, shape), draw.tensor(dtype, shape), draw.tensor(dtype, shape)},
          nullptr};
}

OpCase make_convert(Op op, Draw& draw) {
  OpCase c{op, {}, {draw.tensor(draw.dtype(kAllDTypes), draw.shape())}, nullptr};
  c.attrs.set_dtype(draw.dtype(kAllDTypes));
  return c;
}

}  // namespace lockstep
