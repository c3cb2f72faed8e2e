// The ops that work element by element, as functions of tensors. Binary operands follow NumPy
// broadcasting of shapes but never change dtypes: mixing dtypes is an error that prints both
// operands; plain numbers take the other operand's dtype. Meanings are in core/ir/op_set.h.
#pragma once

#include "core/base/api.h"
#include "core/trace/tensor.h"

namespace LOCKSTEP_API lockstep {

/// Arithmetic, element by element, with broadcasting; of integers as BinaryOp says.
/// @{
Tensor operator+(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a, const Operand& b);
Tensor operator*(const Operand& a, const Operand& b);
Tensor operator/(const Operand& a, const Operand& b);
Tensor operator-(const Operand& a);
/// @}

/// Any elementwise op of two operands (BinaryOp, CompareOp), broadcasting.
Tensor binary(Op op, const Operand& a, const Operand& b);
/// Any elementwise op of one operand.
Tensor unary(Op op, const Tensor& x, Where where = Where::current());

/// The larger one, NaN if either is NaN; broadcasting.
inline Tensor maximum(const Operand& a, const Operand& b) {
  return binary(Op::kMaximum, a, b);
}
/// The smaller one, NaN if either is NaN; broadcasting.
inline Tensor minimum(const Operand& a, const Operand& b) {
  return binary(Op::kMinimum, a, b);
}
/// a to the power of b; broadcasting.
inline Tensor power(const Operand& a, const Operand& b) {
  return binary(Op::kPower, a, b);
}
/// The remainder of a / b, with the sign of a; broadcasting.
inline Tensor remainder(const Operand& a, const Operand& b) {
  return binary(Op::kRemainder, a, b);
}

/// Comparisons -> bool; broadcasting. With NaN all but not_equal() are false.
/// @{
inline Tensor equal(const Operand& a, const Operand& b) {
  return binary(Op::kEqual, a, b);
}
inline Tensor not_equal(const Operand& a, const Operand& b) {
  return binary(Op::kNotEqual, a, b);
}
inline Tensor less(const Operand& a, const Operand& b) {
  return binary(Op::kLess, a, b);
}
inline Tensor less_equal(const Operand& a, const Operand& b) {
  return binary(Op::kLessEqual, a, b);
}
inline Tensor greater(const Operand& a, const Operand& b) {
  return binary(Op::kGreater, a, b);
}
inline Tensor greater_equal(const Operand& a, const Operand& b) {
  return binary(Op::kGreaterEqual, a, b);
}
/// @}

/// Logical for bool, bitwise for integers; broadcasting.
/// @{
inline Tensor logical_and(const Operand& a, const Operand& b) {
  return binary(Op::kAnd, a, b);
}
inline Tensor logical_or(const Operand& a, const Operand& b) {
  return binary(Op::kOr, a, b);
}
inline Tensor logical_xor(const Operand& a, const Operand& b) {
  return binary(Op::kXor, a, b);
}
/// @}

Tensor abs(const Tensor& x, Where where = Where::current());  ///< |x|
/// -1, 0 or 1; NaN for NaN.
Tensor sign(const Tensor& x, Where where = Where::current());
/// The next integer below, in the dtype of x.
Tensor floor(const Tensor& x, Where where = Where::current());
/// The next integer above, in the dtype of x.
Tensor ceil(const Tensor& x, Where where = Where::current());
/// To the nearest integer, ties to even.
Tensor round_even(const Tensor& x, Where where = Where::current());
Tensor exp(const Tensor& x, Where where = Where::current());    ///< e to the power of x
Tensor log(const Tensor& x, Where where = Where::current());    ///< natural logarithm
Tensor tanh(const Tensor& x, Where where = Where::current());   ///< hyperbolic tangent
Tensor erf(const Tensor& x, Where where = Where::current());    ///< error function
Tensor sqrt(const Tensor& x, Where where = Where::current());   ///< square root; NaN below 0
Tensor rsqrt(const Tensor& x, Where where = Where::current());  ///< 1 / sqrt(x)
Tensor sin(const Tensor& x, Where where = Where::current());    ///< of radians
Tensor cos(const Tensor& x, Where where = Where::current());    ///< of radians
/// -> bool: neither NaN nor infinity.
Tensor is_finite(const Tensor& x, Where where = Where::current());
/// Logical for bool, bitwise for integers.
Tensor logical_not(const Tensor& x, Where where = Where::current());

/// pred ? a : b with broadcasting; at least one of a and b is a tensor.
Tensor select(const Tensor& pred, const Operand& a, const Operand& b,
              Where where = Where::current());
/// x in another dtype. Floats become integers by truncation and saturate, NaN becomes 0; bool is
/// x != 0.
Tensor convert(const Tensor& x, DType to, Where where = Where::current());

}  // namespace lockstep
