// The stored type and the arithmetic type of an element: bf16 and f16 compute in f32 and round to
// nearest even when stored, bool is a byte 0 or 1, the others have only one type. Always inlined,
// see element.h.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/base/dtype.h"

namespace lockstep {

/// The stored type of a visit_dtype type.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, BF16> || std::is_same_v<T, F16>;

/// The type for arithmetic on T.
template <class T>
using Computed = std::conditional_t<kIsHalf<T>, float, Stored<T>>;

[[gnu::always_inline]] inline float widen(BF16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}
[[gnu::always_inline]] inline float widen(F16 x) {
  return static_cast<float>(std::bit_cast<_Float16>(x.bits));
}
template <class T>
[[gnu::always_inline]] inline T widen(T x) {
  return x;
}

template <class T>
[[gnu::always_inline]] inline Stored<T> narrow(Computed<T> x) {
  if constexpr (std::is_same_v<T, BF16>) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
    const std::uint32_t quiet = bits | 0x400000U;
    return {static_cast<std::uint16_t>((x != x ? quiet : rounded) >> 16)};
  } else if constexpr (std::is_same_v<T, F16>) {
    return {std::bit_cast<std::uint16_t>(static_cast<_Float16>(x))};
  } else {
    return x;
  }
}

}  // namespace lockstep
