#include "core/kernels/reference/values.h"

#include <limits>

#include "core/base/error.h"

namespace lockstep::reference {

Value make_value(Type type) {
  const auto count = static_cast<std::size_t>(type.elements());
  if (is_float(type.dtype)) return {type, Reals(count, 0.0)};
  return {type, Integers(count, 0)};
}

Value from_host(const HostTensor& tensor) {
  const Type type{tensor.dtype(), tensor.shape()};
  if (is_float(type.dtype)) return {type, to_doubles(tensor)};
  return visit_dtype(type.dtype, [&](auto zero) -> Value {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      const auto from = tensor.as<const T>();
      return {type, Integers(from.begin(), from.end())};
    } else {
      LS_CHECK(false, "{} is no integer dtype", name_of(type.dtype));
      __builtin_unreachable();
    }
  });
}

HostTensor to_host(const Value& value) {
  if (value.is_real()) return from_doubles(value.type.dtype, value.type.shape, value.reals());
  HostTensor out(value.type.dtype, value.type.shape);
  visit_dtype(value.type.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      const auto to = out.as<T>();
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<T>(value.integers()[i]);
    }
  });
  return out;
}

double round_real(DType dtype, double value) {
  const auto narrow = static_cast<float>(value);
  switch (dtype) {
    case DType::kF32: return narrow;
    case DType::kBF16: return float_from_bf16(bf16_from_float(narrow));
    case DType::kF16: return float_from_f16(f16_from_float(narrow));
    case DType::kF64:
    case DType::kI32:
    case DType::kI64:
    case DType::kU8:
    case DType::kBool: return value;
  }
  __builtin_unreachable();
}

std::int64_t wrap_integer(DType dtype, std::int64_t value) {
  switch (dtype) {
    case DType::kI32: return static_cast<std::int32_t>(value);
    case DType::kU8: return static_cast<std::uint8_t>(value);
    case DType::kBool: return value != 0 ? 1 : 0;
    case DType::kI64:
    case DType::kF32:
    case DType::kBF16:
    case DType::kF16:
    case DType::kF64: return value;
  }
  __builtin_unreachable();
}

void round_to_dtype(Value& value) {
  const DType dtype = value.type.dtype;
  if (dtype == DType::kF64 || dtype == DType::kI64) return;
  if (value.is_real()) {
    for (double& x : value.reals()) x = round_real(dtype, x);
  } else {
    for (std::int64_t& x : value.integers()) x = wrap_integer(dtype, x);
  }
}

Range<double> real_range() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {-kInfinity, kInfinity};
}

Range<std::int64_t> integer_range(DType dtype) {
  return visit_dtype(dtype, [](auto zero) -> Range<std::int64_t> {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      return {std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()};
    } else {
      return {0, 0};
    }
  });
}

}  // namespace lockstep::reference
