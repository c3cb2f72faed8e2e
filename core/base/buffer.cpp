#include "core/base/buffer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <new>
#include <type_traits>

namespace lockstep {
namespace {

/// `value` as f32, rounded to odd: of the two neighbours of an inexact value, the one whose last
/// bit is set. Rounding that to bf16 gives what rounding `value` once would (Boldo and Melquiond,
/// "Emulation of FMA and correctly rounded sums", 2008); rounding twice to nearest would not.
float round_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::isnan(value) || static_cast<double>(nearest) == value || (bits & 1U) != 0) {
    return nearest;
  }
  const bool away = std::abs(static_cast<double>(nearest)) > std::abs(value);
  return std::bit_cast<float>(away ? bits - 1 : bits + 1);
}

/// `value` as an integer: to nearest even, clamped to T's range, NaN to 0.
template <class T>
T round_to_integer(double value) {
  if (std::isnan(value)) return 0;
  // The bounds as doubles; max() + 1 is a power of two, so that it is exact for 64 bits as well.
  constexpr auto kMin = static_cast<double>(std::numeric_limits<T>::min());
  const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
  const double rounded = std::nearbyint(value);
  if (rounded < kMin) return std::numeric_limits<T>::min();
  if (rounded >= end) return std::numeric_limits<T>::max();
  return static_cast<T>(rounded);
}

}  // namespace

BufferPtr allocate_host(std::size_t bytes) {
  const std::size_t rounded =
      std::max<std::size_t>((bytes + Buffer::kAlignment - 1) / Buffer::kAlignment, 1) *
      Buffer::kAlignment;
  auto* data =
      static_cast<std::byte*>(::operator new (rounded, std::align_val_t{Buffer::kAlignment}));
  return std::make_shared<Buffer>(data, bytes, MemorySpace::kHost, [](std::byte* p, std::size_t) {
    ::operator delete (p, std::align_val_t{Buffer::kAlignment});
  });
}

std::vector<double> to_doubles(const HostTensor& tensor) {
  return visit_dtype(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<double> out;
    const auto values = tensor.as<const T>();
    out.reserve(values.size());
    for (const T& value : values) {
      if constexpr (std::is_same_v<T, BF16>) {
        out.push_back(float_from_bf16(value.bits));
      } else if constexpr (std::is_same_v<T, F16>) {
        out.push_back(float_from_f16(value.bits));
      } else {
        out.push_back(static_cast<double>(value));
      }
    }
    return out;
  });
}

HostTensor from_doubles(DType dtype, Shape shape, std::span<const double> values) {
  HostTensor out(dtype, shape);
  LS_USER_CHECK(static_cast<std::int64_t>(values.size()) == shape.elements(),
                "{} values given for a tensor of shape {}", values.size(), shape.to_string());
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto to = out.as<T>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_same_v<T, BF16>) {
        to[i] = BF16{bf16_from_float(round_to_odd(values[i]))};
      } else if constexpr (std::is_same_v<T, F16>) {
        to[i] = F16{std::bit_cast<std::uint16_t>(static_cast<_Float16>(values[i]))};
      } else if constexpr (std::is_same_v<T, bool>) {
        to[i] = values[i] != 0;
      } else if constexpr (std::is_integral_v<T>) {
        to[i] = round_to_integer<T>(values[i]);
      } else {
        to[i] = static_cast<T>(values[i]);
      }
    }
  });
  return out;
}

}  // namespace lockstep
