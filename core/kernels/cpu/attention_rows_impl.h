// The loops of AttentionLoops over rows of scores and results, see attention_loops_impl.h.
#pragma once
#include <bit>
#include <limits>

#include "core/kernels/base/element_conversion.h"
#include "core/kernels/cpu/attention_products_impl.h"
#include "core/kernels/cpu/base/fold_lanes.h"

namespace lockstep::attention_loops_impl {

/// e^x for x below 1 with the reduction and the coefficients of vector_math::exp; 0 if the result
/// is below the normal numbers.
template <class S>
[[gnu::always_inline]] inline typename S::Vector exp(typename S::Vector x) {
  using Vector = typename S::Vector;
  using Words = typename S::Words;
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
  // Words, since the sum wraps where x is far below kLowest.
  const Words scale = (std::bit_cast<Words>(shifted) + (127U - 0x4b400000U)) << 23;
  const Vector e = (tail + 1.0F) * std::bit_cast<Vector>(scale);
  return x < kLowest ? Vector{} : e;
}

/// kR rows of softmax() at once, to hide the latency of each.
template <class S, int kR>
[[gnu::always_inline]] inline void softmax_rows(float* scores, std::int64_t stride,
                                                const std::int64_t* visible, std::int64_t width,
                                                float scale, float* inverses) {
  using Vector = typename S::Vector;
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  typename S::Integers lanes{};
#pragma GCC unroll 16
  for (int i = 0; i < S::kWidth; ++i) lanes[i] = i;
  // Later rows see no fewer keys: all rows see those up to `all`.
  const std::int64_t all = visible[0] / S::kWidth * S::kWidth;
  const auto show = [&](int r, std::int64_t i, Vector x) __attribute__((always_inline)) {
    return lanes < static_cast<std::int32_t>(visible[r] - i) ? x : Vector{} + kHidden;
  };
  Vector most[kR];
#pragma GCC unroll 4
  for (int r = 0; r < kR; ++r) most[r] = Vector{} + kHidden;
  const auto compare = [&](int r, Vector x) __attribute__((always_inline)) {
    most[r] = x > most[r] ? x : most[r];
  };
  for (std::int64_t i = 0; i < all; i += S::kWidth)
#pragma GCC unroll 4
    for (int r = 0; r < kR; ++r) compare(r, load<S>(scores + r * stride + i) * scale);
  for (std::int64_t i = all; i < width; i += S::kWidth)
#pragma GCC unroll 4
    for (int r = 0; r < kR; ++r) compare(r, show(r, i, load<S>(scores + r * stride + i) * scale));
  Vector offset[kR];
  Vector sum[kR];
#pragma GCC unroll 4
  for (int r = 0; r < kR; ++r) {
    const float largest = largest_lane<S>(most[r]);
    offset[r] = Vector{} - (largest == kHidden ? 0.0F : largest);
    sum[r] = Vector{};
  }
  const auto scaled = [&](int r, std::int64_t i) __attribute__((always_inline)) {
    return S::fma(load<S>(scores + r * stride + i), Vector{} + scale, offset[r]);
  };
  const auto put = [&](int r, std::int64_t i, Vector e) __attribute__((always_inline)) {
    store_vector<S>(e, scores + r * stride + i);
    sum[r] += e;
  };
  for (std::int64_t i = 0; i < all; i += S::kWidth)
#pragma GCC unroll 4
    for (int r = 0; r < kR; ++r) put(r, i, exp<S>(scaled(r, i)));
  for (std::int64_t i = all; i < width; i += S::kWidth)
#pragma GCC unroll 4
    for (int r = 0; r < kR; ++r) put(r, i, exp<S>(show(r, i, scaled(r, i))));
#pragma GCC unroll 4
  for (int r = 0; r < kR; ++r) {
    const float total = add_lanes<S>(sum[r]);
    inverses[r] = total == 0 ? 0.0F : 1.0F / total;
  }
}

/// Hides keys of other segments.
template <class S>
void hide_others(float* scores, std::int64_t width, float scale, const std::int32_t* key_segments,
                 std::int32_t segment) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto hidden = typename S::Vector{} + (scale > 0 ? -kInfinity : kInfinity);
  typename S::Integers of_keys;
  for (std::int64_t i = 0; i < width; i += S::kWidth) {
    __builtin_memcpy(&of_keys, key_segments + i, sizeof of_keys);
    store_vector<S>(of_keys == segment ? load<S>(scores + i) : hidden, scores + i);
  }
}

template <class S>
void softmax(float* scores, std::int64_t stride, std::int64_t rows, const std::int64_t* visible,
             std::int64_t width, float scale, const std::int32_t* key_segments,
             const std::int32_t* segments, float* inverses) {
  constexpr int kR = S::kRows / 2;
  if (key_segments != nullptr)
    for (std::int64_t r = 0; r < rows; ++r)
      hide_others<S>(scores + r * stride, width, scale, key_segments, segments[r]);
  std::int64_t r = 0;
  for (; r + kR <= rows; r += kR)
    softmax_rows<S, kR>(scores + r * stride, stride, visible + r, width, scale, inverses + r);
  for (; r < rows; ++r)
    softmax_rows<S, 1>(scores + r * stride, stride, visible + r, width, scale, inverses + r);
}

template <class S>
void softmax_grad(float* weights, float* gradients, std::int64_t stride, std::int64_t rows,
                  std::int64_t width, const float* inverses, const float* means, float scale) {
  for (std::int64_t r = 0; r < rows; ++r, weights += stride, gradients += stride)
    for (std::int64_t i = 0; i < width; i += S::kWidth) {
      const auto weight = load<S>(weights + i) * inverses[r];
      store_vector<S>(weight, weights + i);
      store_vector<S>(weight * (load<S>(gradients + i) - means[r]) * scale, gradients + i);
    }
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
void dots(const Unit* x, std::int64_t x_row, const Unit* y, std::int64_t y_row, std::int64_t rows,
          std::int64_t units, float* to) {
  for (std::int64_t r = 0; r < rows; ++r, x += x_row, y += y_row) {
    typename S::Vector sum{};
    for (std::int64_t u = 0; u < units; u += S::kWidth)
      sum = S::multiply_add(load<S>(x + u), load<S>(y + u), sum);
    to[r] = add_lanes<S>(sum);
  }
}

template <class S>
void store_rows(DType dtype, const float* from, std::int64_t padded_depth, std::int64_t rows,
                std::int64_t depth, const float* factors, std::byte* to, std::int64_t stride) {
  const auto typed = [&](auto zero) {
    using T = decltype(zero);
    auto* out = reinterpret_cast<T*>(to);
    for (std::int64_t r = 0; r < rows; ++r, from += padded_depth, out += stride) {
      const float factor = factors == nullptr ? 1.0F : factors[r];
      for_each_element<S>(depth, [&](std::int64_t i) { out[i] = narrow<T>(from[i] * factor); });
    }
  };
  if (dtype == DType::kF32) typed(0.0F);
  if (dtype == DType::kBF16) typed(BF16{});
  if (dtype == DType::kF16) typed(F16{});
}

}  // namespace lockstep::attention_loops_impl
