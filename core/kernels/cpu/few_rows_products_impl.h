// Products of FewRowsLoops, see few_rows_loops_impl.h.
#pragma once

#include <algorithm>
#include <bit>
#include <utility>

#include "core/kernels/cpu/element_conversion.h"
#include "core/kernels/cpu/few_rows_loops.h"

namespace lockstep::few_rows_impl {

/// Rows of a matrix that are read side by side.
inline constexpr std::int64_t kSide = 4;
/// How far ahead of the reads memory is fetched, in rows or keys.
inline constexpr std::int64_t kAhead = 8;

template <class S, class T>
[[gnu::always_inline]] inline typename S::Vector load(const T* from) {
  if constexpr (std::is_same_v<T, BF16>) {
    typedef std::uint16_t Halves __attribute__((vector_size(2 * S::kWidth)));
    Halves bits;
    __builtin_memcpy(&bits, from, sizeof bits);
    return std::bit_cast<typename S::Vector>(__builtin_convertvector(bits, typename S::Words)
                                             << 16);
  } else {
    typename S::Vector out;
    __builtin_memcpy(&out, from, sizeof out);
    return out;
  }
}

template <class S>
[[gnu::always_inline]] inline void store(typename S::Vector x, float* to) {
  __builtin_memcpy(to, &x, sizeof x);
}

/// The sum of the lanes, pairwise.
template <class S>
[[gnu::always_inline]] inline float sum(typename S::Vector x) {
  float lanes[S::kWidth];
  __builtin_memcpy(lanes, &x, sizeof x);
#pragma GCC unroll 8
  for (int half = S::kWidth / 2; half > 0; half /= 2)
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

/// Adds kSide rows of w, or as many as kRows says, times their factors to the sums.
template <class S, class T, int kRows>
[[gnu::always_inline]] inline void add_side(std::int64_t rows, std::int64_t depth,
                                            std::int64_t columns, const float* x, const T* w,
                                            std::int64_t stride, bool fetches, float* sums,
                                            std::int64_t sums_row) {
  using Vector = typename S::Vector;
  std::int64_t j = 0;
  if (rows == 1) {
    Vector factors[kRows];
    for (int r = 0; r < kRows; ++r) factors[r] = Vector{} + x[r];
    for (; j + S::kWidth <= columns; j += S::kWidth) {
      Vector out = load<S>(sums + j);
      for (int r = 0; r < kRows; ++r) {
        const T* at = w + r * stride + j;
        if (fetches) __builtin_prefetch(at + kAhead * stride);
        out = S::fma(factors[r], load<S>(at), out);
      }
      store<S>(out, sums + j);
    }
  }
  for (; j + S::kWidth <= columns; j += S::kWidth) {
    Vector weights[kRows];
    for (int r = 0; r < kRows; ++r) {
      const T* at = w + r * stride + j;
      if (fetches) __builtin_prefetch(at + kAhead * stride);
      weights[r] = load<S>(at);
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      Vector out = load<S>(sums + i * sums_row + j);
      for (int r = 0; r < kRows; ++r) out = S::fma(Vector{} + x[i * depth + r], weights[r], out);
      store<S>(out, sums + i * sums_row + j);
    }
  }
  for (; j < columns; ++j)
    for (std::int64_t i = 0; i < rows; ++i) {
      float& out = sums[i * sums_row + j];
      for (int r = 0; r < kRows; ++r)
        out = __builtin_fmaf(x[i * depth + r], widen(w[r * stride + j]), out);
    }
}

template <class S, class T>
void typed_product(std::int64_t rows, std::int64_t depth, std::int64_t columns, const float* x,
                   const T* w, std::int64_t stride, float* sums, std::int64_t sums_row) {
  for (std::int64_t i = 0; i < rows; ++i) std::fill_n(sums + i * sums_row, columns, 0.0F);
  std::int64_t k = 0;
  for (; k + kSide <= depth; k += kSide)
    add_side<S, T, kSide>(rows, depth, columns, x + k, w + k * stride, stride,
                          k + kSide + kAhead <= depth, sums, sums_row);
  for (; k < depth; ++k)
    add_side<S, T, 1>(rows, depth, columns, x + k, w + k * stride, stride, false, sums, sums_row);
}

/// kRows columns of a transposed product.
template <class S, class T, int kRows>
[[gnu::always_inline]] inline void dot_side(std::int64_t rows, std::int64_t depth, const float* x,
                                            const T* w, std::int64_t stride, bool fetches,
                                            float* sums, std::int64_t sums_row) {
  using Vector = typename S::Vector;
  for (std::int64_t i = 0; i < rows; ++i, x += depth, sums += sums_row) {
    Vector lanes[kRows] = {};
    std::int64_t k = 0;
    for (; k + S::kWidth <= depth; k += S::kWidth) {
      const Vector left = load<S>(x + k);
      for (int r = 0; r < kRows; ++r) {
        const T* at = w + r * stride + k;
        if (fetches && i == 0) __builtin_prefetch(at + kAhead * stride);
        lanes[r] = S::fma(left, load<S>(at), lanes[r]);
      }
    }
    for (int r = 0; r < kRows; ++r) {
      float out = sum<S>(lanes[r]);
      for (std::int64_t rest = k; rest < depth; ++rest)
        out = __builtin_fmaf(x[rest], widen(w[r * stride + rest]), out);
      sums[r] = out;
    }
  }
}

template <class S, class T>
void typed_transposed_product(std::int64_t rows, std::int64_t depth, std::int64_t columns,
                              const float* x, const T* w, std::int64_t stride, float* sums,
                              std::int64_t sums_row) {
  std::int64_t j = 0;
  for (; j + kSide <= columns; j += kSide)
    dot_side<S, T, kSide>(rows, depth, x, w + j * stride, stride, j + kSide + kAhead <= columns,
                          sums + j, sums_row);
  for (; j < columns; ++j)
    dot_side<S, T, 1>(rows, depth, x, w + j * stride, stride, false, sums + j, sums_row);
}

}  // namespace lockstep::few_rows_impl
