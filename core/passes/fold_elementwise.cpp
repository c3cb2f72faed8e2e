#include "core/passes/fold_elementwise.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace lockstep {
namespace {

// Arithmetic on 16-bit floats is f32 arithmetic, rounded once: f32 has more than twice their
// significant bits plus two, so the rounding is that of the exact result.
inline float wide(BF16 x) {
  return float_from_bf16(x.bits);
}
inline float wide(F16 x) {
  return float_from_f16(x.bits);
}
template <class T>
T wide(T x) {
  return x;
}
template <class T>
using Wide = decltype(wide(T{}));

template <class T>
T narrow(Wide<T> x) {
  if constexpr (std::is_same_v<T, BF16>) {
    return BF16{bf16_from_float(x)};
  } else if constexpr (std::is_same_v<T, F16>) {
    return F16{f16_from_float(x)};
  } else {
    return x;
  }
}

template <class W>
std::optional<W> float_unary(Op op, W x) {
  switch (as<UnaryOp>(op)) {
    case UnaryOp::kNegate: return -x;
    case UnaryOp::kAbs: return std::fabs(x);
    case UnaryOp::kSqrt: return std::sqrt(x);
    case UnaryOp::kFloor: return std::floor(x);
    case UnaryOp::kCeil: return std::ceil(x);
    case UnaryOp::kRoundEven: return std::nearbyint(x);  // the default rounding mode ties to even
    case UnaryOp::kSign:
    case UnaryOp::kExp:
    case UnaryOp::kLog:
    case UnaryOp::kTanh:
    case UnaryOp::kErf:
    case UnaryOp::kRsqrt:
    case UnaryOp::kSin:
    case UnaryOp::kCos:
    case UnaryOp::kIsFinite:
    case UnaryOp::kNot: return std::nullopt;
  }
  __builtin_unreachable();
}

template <class W>
std::optional<W> float_binary(Op op, W a, W b) {
  switch (as<BinaryOp>(op)) {
    case BinaryOp::kAdd: return a + b;
    case BinaryOp::kSubtract: return a - b;
    case BinaryOp::kMultiply: return a * b;
    case BinaryOp::kDivide: return a / b;
    case BinaryOp::kRemainder: return std::fmod(a, b);
    case BinaryOp::kMaximum:
    case BinaryOp::kMinimum:
      if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<W>::quiet_NaN();
      return (op == BinaryOp::kMaximum ? a > b : a < b) ? a : b;
    case BinaryOp::kPower:
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kXor:
    case BinaryOp::kShiftLeft:
    case BinaryOp::kShiftRightLogical: return std::nullopt;
  }
  __builtin_unreachable();
}

template <class T>
std::optional<T> integer_unary(Op op, T x) {
  using U = std::make_unsigned_t<T>;
  switch (as<UnaryOp>(op)) {
    case UnaryOp::kNegate: return static_cast<T>(U{0} - static_cast<U>(x));
    case UnaryOp::kAbs: return x < 0 ? static_cast<T>(U{0} - static_cast<U>(x)) : x;
    case UnaryOp::kNot: return static_cast<T>(~x);
    case UnaryOp::kSign:
    case UnaryOp::kExp:
    case UnaryOp::kLog:
    case UnaryOp::kTanh:
    case UnaryOp::kErf:
    case UnaryOp::kSqrt:
    case UnaryOp::kRsqrt:
    case UnaryOp::kSin:
    case UnaryOp::kCos:
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kRoundEven:
    case UnaryOp::kIsFinite: return std::nullopt;
  }
  __builtin_unreachable();
}

template <class T>
std::optional<T> integer_binary(Op op, T a, T b) {
  using U = std::make_unsigned_t<T>;
  const auto x = static_cast<U>(a);
  const auto y = static_cast<U>(b);
  const bool overflows =
      std::is_signed_v<T> && a == std::numeric_limits<T>::min() && b == static_cast<T>(-1);
  const bool shifts_all = b < 0 || y >= U{8 * sizeof(T)};
  switch (as<BinaryOp>(op)) {
    // One is added as u32 or wider, so that u8 is not multiplied as a signed int.
    case BinaryOp::kAdd: return static_cast<T>(x + y);
    case BinaryOp::kSubtract: return static_cast<T>(x - y);
    case BinaryOp::kMultiply: return static_cast<T>(std::uint64_t{x} * y);
    case BinaryOp::kDivide:
      return b == 0 ? static_cast<T>(-1) : overflows ? a : static_cast<T>(a / b);
    case BinaryOp::kRemainder: return b == 0 ? a : overflows ? T{0} : static_cast<T>(a % b);
    case BinaryOp::kMaximum: return a > b ? a : b;
    case BinaryOp::kMinimum: return a < b ? a : b;
    case BinaryOp::kAnd: return static_cast<T>(a & b);
    case BinaryOp::kOr: return static_cast<T>(a | b);
    case BinaryOp::kXor: return static_cast<T>(a ^ b);
    case BinaryOp::kShiftLeft: return shifts_all ? T{0} : static_cast<T>(x << y);
    case BinaryOp::kShiftRightLogical: return shifts_all ? T{0} : static_cast<T>(x >> y);
    case BinaryOp::kPower: return std::nullopt;
  }
  __builtin_unreachable();
}

std::optional<bool> bool_op(Op op, bool a, bool b) {
  if (op == Op::kNot) return !a;
  if (op == Op::kAnd) return a && b;
  if (op == Op::kOr) return a || b;
  if (op == Op::kXor) return a != b;
  return std::nullopt;  // of numbers only
}

template <class W>
bool compare(Op op, W a, W b) {
  switch (as<CompareOp>(op)) {
    case CompareOp::kEqual: return a == b;
    case CompareOp::kNotEqual: return a != b;
    case CompareOp::kLess: return a < b;
    case CompareOp::kLessEqual: return a <= b;
    case CompareOp::kGreater: return a > b;
    case CompareOp::kGreaterEqual: return a >= b;
  }
  __builtin_unreachable();
}

/// The value as a To, or nothing if an intermediate rounding would not be exact.
template <class To, class From>
std::optional<To> convert(From from) {
  const auto x = wide(from);
  using W = decltype(x);
  if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_integral_v<To>) {
    if constexpr (std::is_floating_point_v<std::remove_const_t<W>>) {
      if (std::isnan(x)) return To{0};
      // 2^n is exact in every float type, max() may not be.
      if (x >= std::ldexp(1.0, std::numeric_limits<To>::digits))
        return std::numeric_limits<To>::max();
      if (x <= static_cast<double>(std::numeric_limits<To>::min()))
        return std::numeric_limits<To>::min();
    }
    return static_cast<To>(x);
  } else if constexpr (sizeof(To) == 2) {
    const auto y = static_cast<float>(x);
    const bool exact = std::is_same_v<std::remove_const_t<W>, float> ||
                       static_cast<double>(y) == static_cast<double>(x);
    if (!exact) return std::nullopt;
    return narrow<To>(y);
  } else {
    return static_cast<To>(x);
  }
}

template <class T>
std::optional<T> element(const Node& node, std::span<const HostTensor> in, std::size_t i) {
  const T a = in[0].as<const T>()[i];
  const bool binary = in.size() == 2;
  const T b = binary ? in[1].as<const T>()[i] : T{};
  if constexpr (std::is_same_v<T, bool>) {
    return bool_op(node.op, a, b);
  } else if constexpr (std::is_integral_v<T>) {
    return binary ? integer_binary(node.op, a, b) : integer_unary(node.op, a);
  } else {
    const auto out =
        binary ? float_binary(node.op, wide(a), wide(b)) : float_unary(node.op, wide(a));
    if (!out) return std::nullopt;
    return narrow<T>(*out);
  }
}

template <class From>
bool convert_element(const HostTensor& from, const HostTensor& to, std::size_t i) {
  return visit_dtype(to.dtype(), [&](auto zero) {
    using To = decltype(zero);
    const std::optional<To> value = convert<To>(from.as<const From>()[i]);
    if (value) to.as<To>()[i] = *value;
    return value.has_value();
  });
}

/// Writes element i of the result; false if it is not exactly specified.
template <class T>
bool write_element(const Node& node, std::span<const HostTensor> in, const HostTensor& out,
                   std::size_t i) {
  if (node.op == ConvertOp::kConvert) return convert_element<T>(in[0], out, i);
  if (info_of(node.op).op_class == OpClass::kCompare) {
    out.as<bool>()[i] =
        compare(node.op, wide(in[0].as<const T>()[i]), wide(in[1].as<const T>()[i]));
    return true;
  }
  if (node.op == UnaryOp::kIsFinite) {
    if constexpr (std::is_floating_point_v<Wide<T>>)
      out.as<bool>()[i] = std::isfinite(wide(in[0].as<const T>()[i]));
    return true;
  }
  const std::optional<T> value = element<T>(node, in, i);
  if (value) out.as<T>()[i] = *value;
  return value.has_value();
}

}  // namespace

std::optional<HostTensor> fold_elementwise(const Node& node, std::span<const HostTensor> operands) {
  const HostTensor& first = operands[0];
  HostTensor out(node.type.dtype, first.shape());
  const auto count = static_cast<std::size_t>(first.shape().elements());
  if (node.op == Op::kSelect) {
    const std::size_t size = size_of(node.type.dtype);
    for (std::size_t i = 0; i < count; ++i) {
      const HostTensor& chosen = first.as<const bool>()[i] ? operands[1] : operands[2];
      std::memcpy(out.bytes().data() + i * size, chosen.bytes().data() + i * size, size);
    }
    return out;
  }
  const bool known = visit_dtype(first.dtype(), [&](auto zero) {
    for (std::size_t i = 0; i < count; ++i)
      if (!write_element<decltype(zero)>(node, operands, out, i)) return false;
    return true;
  });
  if (!known) return std::nullopt;
  return out;
}

}  // namespace lockstep
