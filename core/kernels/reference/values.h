// Values of the oracle: every float as a double, every integer and bool as an int64. An op computes
// in these wide types; round_to_dtype then makes the value one that its dtype can hold.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "core/base/buffer.h"
#include "core/ir/graph.h"

namespace lockstep::reference {

using Reals = std::vector<double>;
using Integers = std::vector<std::int64_t>;

/// A dense row-major tensor. `elements` holds Reals for float dtypes and Integers (bool as 0 or 1)
/// for the others.
struct Value {
  Type type;
  std::variant<Reals, Integers> elements;

  bool is_real() const { return std::holds_alternative<Reals>(elements); }
  Reals& reals() { return std::get<Reals>(elements); }
  const Reals& reals() const { return std::get<Reals>(elements); }
  Integers& integers() { return std::get<Integers>(elements); }
  const Integers& integers() const { return std::get<Integers>(elements); }
};

/// The operand values of one node.
using Operands = std::span<const Value* const>;

/// All zeros.
Value make_value(Type type);

Value from_host(const HostTensor& tensor);
HostTensor to_host(const Value& value);

/// The nearest value of a float dtype, ties to even; bf16 and f16 through f32, as their arithmetic
/// is defined (base/dtype.h).
double round_real(DType dtype, double value);

/// The low bits of `value` as a number of an integer dtype; for bool, value != 0.
std::int64_t wrap_integer(DType dtype, std::int64_t value);

/// Rounds or wraps every element to the value's dtype.
void round_to_dtype(Value& value);

/// Arithmetic modulo 2^64; wrapping the result to a narrower dtype gives that dtype's arithmetic.
inline std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::int64_t wrapping_multiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// The same two operations on either element type, for code that treats both alike.
inline double add(double a, double b) {
  return a + b;
}
inline std::int64_t add(std::int64_t a, std::int64_t b) {
  return wrapping_add(a, b);
}
inline double multiply(double a, double b) {
  return a * b;
}
inline std::int64_t multiply(std::int64_t a, std::int64_t b) {
  return wrapping_multiply(a, b);
}

/// The numbers of a dtype: lowest and highest; -inf and inf for floats.
template <class T>
struct Range {
  T lowest;
  T highest;
};
Range<double> real_range();
Range<std::int64_t> integer_range(DType dtype);

}  // namespace lockstep::reference
