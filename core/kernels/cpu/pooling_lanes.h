// Vectors of channels for the loops of pooling: templates over the instruction set, so that no
// function for a wider one is linked into code for a narrower one.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/ir/target.h"
#include "core/kernels/base/element_conversion.h"

namespace lockstep::pooling_impl {

template <Isa kIsa, int kLanes>
struct VectorTypes {
  typedef float Vector __attribute__((vector_size(4 * kLanes)));
  typedef std::int32_t Words __attribute__((vector_size(4 * kLanes)));
  typedef std::uint32_t Bits __attribute__((vector_size(4 * kLanes)));
  typedef std::uint16_t Halves __attribute__((vector_size(2 * kLanes)));
  static constexpr int kWidth = kLanes;
};

/// The sources of an instruction set may specialize it for their vectors.
template <Isa kIsa, int kLanes>
struct Lanes : VectorTypes<kIsa, kLanes> {
  using typename VectorTypes<kIsa, kLanes>::Vector;
  using typename VectorTypes<kIsa, kLanes>::Words;
  using typename VectorTypes<kIsa, kLanes>::Bits;
  using typename VectorTypes<kIsa, kLanes>::Halves;
  using Mask = Words;

  [[gnu::always_inline]] static Bits widen(Halves x) { return __builtin_convertvector(x, Bits); }
  [[gnu::always_inline]] static Halves narrow(Bits x) { return __builtin_convertvector(x, Halves); }

  /// Larger, or a NaN where there was none.
  [[gnu::always_inline]] static Mask exceeds(Vector candidate, Vector best) {
    return (best == best) & ((candidate > best) | (candidate != candidate));
  }
  [[gnu::always_inline]] static Mask equal(Words a, Words b) { return a == b; }
  [[gnu::always_inline]] static Vector choose(Mask mask, Vector a, Vector b) {
    return mask ? a : b;
  }
  [[gnu::always_inline]] static Words choose(Mask mask, Words a, Words b) { return mask ? a : b; }
  /// to + x where the mask is set, else to.
  [[gnu::always_inline]] static Vector add_where(Mask mask, Vector to, Vector x) {
    return mask ? to + x : to;
  }
};

template <class L, class T>
[[gnu::always_inline]] inline typename L::Vector load(const T* from) {
  typename L::Vector out;
  if constexpr (std::is_same_v<T, BF16>) {
    typename L::Halves bits;
    __builtin_memcpy(&bits, from, sizeof bits);
    return std::bit_cast<typename L::Vector>(L::widen(bits) << 16);
  } else if constexpr (std::is_same_v<T, F16>) {
    for (int i = 0; i < L::kWidth; ++i) out[i] = widen(from[i]);
  } else {
    __builtin_memcpy(&out, from, sizeof out);
  }
  return out;
}

/// Rounds like narrow().
template <class L, class T>
[[gnu::always_inline]] inline void store(typename L::Vector x, T* to) {
  if constexpr (std::is_same_v<T, BF16>) {
    using Bits = typename L::Bits;
    const Bits bits = std::bit_cast<Bits>(x);
    const Bits rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
    const Bits kept = x != x ? bits | 0x400000U : rounded;
    const typename L::Halves halves = L::narrow(kept >> 16);
    __builtin_memcpy(to, &halves, sizeof halves);
  } else if constexpr (std::is_same_v<T, F16>) {
    for (int i = 0; i < L::kWidth; ++i) to[i] = narrow<F16>(x[i]);
  } else {
    __builtin_memcpy(to, &x, sizeof x);
  }
}

template <class L>
[[gnu::always_inline]] inline typename L::Words load_words(const std::int32_t* from) {
  typename L::Words out;
  __builtin_memcpy(&out, from, sizeof out);
  return out;
}
template <class L>
[[gnu::always_inline]] inline void store_words(typename L::Words x, std::int32_t* to) {
  __builtin_memcpy(to, &x, sizeof x);
}

}  // namespace lockstep::pooling_impl
