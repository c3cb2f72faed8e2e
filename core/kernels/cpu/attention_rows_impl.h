// The loops of AttentionLoops over rows of scores and results, see attention_loops_impl.h.
#pragma once

#include <bit>
#include <limits>

#include "core/kernels/cpu/attention_products_impl.h"
#include "core/kernels/cpu/storage.h"

namespace lockstep::attention_loops_impl {

/// Folds halves of a vector onto each other.
template <class S, class F>
[[gnu::always_inline]] inline float fold_lanes(typename S::Vector x, const F& combine) {
  typename S::Integers lanes{};
#pragma GCC unroll 16
  for (int i = 0; i < S::kWidth; ++i) lanes[i] = i;
#pragma GCC unroll 4
  for (int half = S::kWidth / 2; half > 0; half /= 2)
    x = combine(x, __builtin_shuffle(x, lanes ^ half));
  return x[0];
}
template <class S>
[[gnu::always_inline]] inline float add_lanes(typename S::Vector x) {
  using Vector = typename S::Vector;
  return fold_lanes<S>(x, [](const Vector& a, const Vector& b) { return a + b; });
}
template <class S>
[[gnu::always_inline]] inline float largest_lane(typename S::Vector x) {
  using Vector = typename S::Vector;
  return fold_lanes<S>(x, [](const Vector& a, const Vector& b) { return a > b ? a : b; });
}

/// e^x for x <= 0 with the reduction and the coefficients of vector_math::exp; 0 where that is
/// below the normal numbers.
template <class S>
[[gnu::always_inline]] inline typename S::Vector exp(typename S::Vector x) {
  using Vector = typename S::Vector;
  using Integers = typename S::Integers;
  constexpr float kLowest = -87.3F;
  constexpr float kMagic = 0x1.8p23F;
  const Vector shifted = S::fma(x, Vector{} + 0x1.715476p0F, Vector{} + kMagic);
  const Vector n = shifted - kMagic;
  Vector r = S::fma(n, Vector{} - 0x1.62e400p-1F, x);
  r = S::fma(n, Vector{} - 0x1.7f7d1cp-20F, r);
  Vector p = S::fma(r, Vector{} + 0x1.6a2258p-10F, Vector{} + 0x1.123b02p-7F);
  p = S::fma(p, r, Vector{} + 0x1.5558f8p-5F);
  p = S::fma(p, r, Vector{} + 0x1.555490p-3F);
  p = S::fma(p, r, Vector{} + 0x1.fffffcp-2F);
  const Vector tail = S::fma(r * r, p, r);
  const Integers scale = (std::bit_cast<Integers>(shifted) + (127 - 0x4b400000)) << 23;
  const Vector e = (tail + 1.0F) * std::bit_cast<Vector>(scale);
  return x < kLowest ? Vector{} : e;
}

template <class S>
float softmax(float* row, std::int64_t visible, std::int64_t width, float scale,
              const std::byte* mask) {
  using Vector = typename S::Vector;
  constexpr std::int64_t kW = S::kWidth;
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  if (mask != nullptr)
    for (std::int64_t i = 0; i < visible; ++i)
      if (mask[i] == std::byte{0}) row[i] = scale > 0 ? kHidden : -kHidden;
  typename S::Integers lanes{};
#pragma GCC unroll 16
  for (int i = 0; i < kW; ++i) lanes[i] = i;
  Vector most[2] = {Vector{} + kHidden, Vector{} + kHidden};
  for (std::int64_t i = 0; i < width; i += 2 * kW)
    for (int v = 0; v < 2; ++v) {
      const auto left = static_cast<std::int32_t>(visible - i - v * kW);
      const Vector scaled = load<S>(row + i + v * kW) * scale;
      const Vector x = lanes < left ? scaled : Vector{} + kHidden;
      store_vector<S>(x, row + i + v * kW);
      most[v] = x > most[v] ? x : most[v];
    }
  const float largest = largest_lane<S>(most[0] > most[1] ? most[0] : most[1]);
  if (largest == kHidden) {
    for (std::int64_t i = 0; i < width; ++i) row[i] = 0.0F;
    return 0.0F;
  }
  Vector sum[2] = {};
  for (std::int64_t i = 0; i < width; i += 2 * kW)
    for (int v = 0; v < 2; ++v) {
      const Vector e = exp<S>(load<S>(row + i + v * kW) - largest);
      store_vector<S>(e, row + i + v * kW);
      sum[v] += e;
    }
  return 1.0F / add_lanes<S>(sum[0] + sum[1]);
}

template <class S>
void softmax_grad(const float* weights, std::int64_t width, float mean, float scale, float* row) {
  for (std::int64_t i = 0; i < width; i += S::kWidth)
    store_vector<S>(load<S>(weights + i) * (load<S>(row + i) - mean) * scale, row + i);
}

/// Only instantiated where units are pairs.
template <class S>
void round_row(const float* row, std::int64_t width, Unit* to) {
  for (std::int64_t i = 0; i < width; i += kPanel, to += kPanel / 2) {
    const auto both = S::round(load<S>(row + i), load<S>(row + i + S::kWidth));
    __builtin_memcpy(to, &both, sizeof both);
  }
}

template <class S>
void round_rows(const float* row, const float* other, std::int64_t width, Unit* to) {
  for (std::int64_t i = 0; i < width; i += S::kWidth, to += S::kWidth) {
    const auto pairs = S::round_pairs(load<S>(row + i), load<S>(other + i));
    __builtin_memcpy(to, &pairs, sizeof pairs);
  }
}

template <class S>
float dot(const Unit* x, const Unit* y, std::int64_t units) {
  typename S::Vector sum{};
  for (std::int64_t u = 0; u < units; u += S::kWidth)
    sum = S::multiply_add(load<S>(x + u), load<S>(y + u), sum);
  return add_lanes<S>(sum);
}

template <class S>
void store(DType dtype, const float* from, std::int64_t count, float factor, std::byte* to) {
  const auto typed = [&](auto zero) {
    using T = decltype(zero);
    auto* out = reinterpret_cast<T*>(to);
    for_each_element<S>(count, [&](std::int64_t i) { out[i] = narrow<T>(from[i] * factor); });
  };
  if (dtype == DType::kF32) typed(0.0F);
  if (dtype == DType::kBF16) typed(BF16{});
  if (dtype == DType::kF16) typed(F16{});
}

}  // namespace lockstep::attention_loops_impl
