// FewRowsLoops for one instruction set; included only by the sources compiled for one. `S` has
// Vector, Words (kWidth lanes of 32 bits, GCC vector types), kWidth and fma(a, b, c) = a * b + c.
#pragma once

#include <algorithm>

#include "core/kernels/cpu/product/few_rows_products_impl.h"

namespace lockstep::few_rows_impl {

template <class S, class T>
void typed_scores(std::int64_t heads, std::int64_t depth, std::int64_t count, const float* q,
                  const T* keys, std::int64_t stride, float* scores, std::int64_t score_row) {
  std::int64_t j = 0;
  for (; j + kSide <= count; j += kSide)
    for (std::int64_t h = 0; h < heads; ++h)
      dot_side<S, T, kSide>(1, depth, q + h * depth, keys + j * stride + h * depth, stride,
                            rows_ahead(j + kSide, count, stride), scores + h * score_row + j, 0);
  for (; j < count; ++j)
    for (std::int64_t h = 0; h < heads; ++h)
      dot_side<S, T, 1>(1, depth, q + h * depth, keys + j * stride + h * depth, stride, 0,
                        scores + h * score_row + j, 0);
}

template <class S, class T>
void typed_mix(std::int64_t heads, std::int64_t depth, std::int64_t count, const float* weights,
               std::int64_t score_row, const T* values, std::int64_t stride, float* out) {
  std::fill_n(out, heads * depth, 0.0F);
  const auto is_seen = [](float weight) { return weight != 0; };
  for (std::int64_t j = 0; j < count; j += kSide)
    for (std::int64_t h = 0; h < heads; ++h) {
      const float* weight = weights + h * score_row + j;
      const T* from = values + j * stride + h * depth;
      const std::int64_t side = std::min(kSide, count - j);
      if (side == kSide && std::all_of(weight, weight + kSide, is_seen)) {
        add_side<S, T, kSide>(1, 1, depth, weight, from, stride,
                              rows_ahead(j + kSide, count, stride), out + h * depth, 0);
        continue;
      }
      for (std::int64_t r = 0; r < side; ++r)
        if (is_seen(weight[r]))
          add_side<S, T, 1>(1, 1, depth, weight + r, from + r * stride, stride, 0, out + h * depth,
                            0);
    }
}

/// f with `data` as a pointer to its elements.
template <class F>
[[gnu::always_inline]] inline void typed(DType dtype, const std::byte* data, const F& f) {
  if (dtype == DType::kF32) f(reinterpret_cast<const float*>(data));
  if (dtype == DType::kBF16) f(reinterpret_cast<const BF16*>(data));
}

template <class S>
void product(DType dtype, std::int64_t rows, std::int64_t depth, std::int64_t columns,
             const float* x, const std::byte* w, std::int64_t stride, float* sums,
             std::int64_t sums_row) {
  typed(dtype, w, [&](auto* from) {
    typed_product<S>(rows, depth, columns, x, from, stride, sums, sums_row);
  });
}

template <class S>
void transposed_product(DType dtype, std::int64_t rows, std::int64_t depth, std::int64_t columns,
                        const float* x, const std::byte* w, std::int64_t stride, float* sums,
                        std::int64_t sums_row) {
  typed(dtype, w, [&](auto* from) {
    typed_transposed_product<S>(rows, depth, columns, x, from, stride, sums, sums_row);
  });
}

template <class S>
void scores(DType dtype, std::int64_t heads, std::int64_t depth, std::int64_t count, const float* q,
            const std::byte* keys, std::int64_t stride, float* to, std::int64_t score_row) {
  typed(dtype, keys,
        [&](auto* from) { typed_scores<S>(heads, depth, count, q, from, stride, to, score_row); });
}

template <class S>
void mix(DType dtype, std::int64_t heads, std::int64_t depth, std::int64_t count,
         const float* weights, std::int64_t score_row, const std::byte* values, std::int64_t stride,
         float* out) {
  typed(dtype, values, [&](auto* from) {
    typed_mix<S>(heads, depth, count, weights, score_row, from, stride, out);
  });
}

template <class S>
inline constexpr FewRowsLoops kTable = {.product = product<S>,
                                        .transposed_product = transposed_product<S>,
                                        .scores = scores<S>,
                                        .mix = mix<S>};

}  // namespace lockstep::few_rows_impl
