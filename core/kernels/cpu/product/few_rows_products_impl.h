// Products of FewRowsLoops, see few_rows_loops_impl.h.
#pragma once

#include <algorithm>
#include <bit>

#include "core/kernels/base/element_conversion.h"
#include "core/kernels/cpu/base/fold_lanes.h"
#include "core/kernels/cpu/product/few_rows_loops.h"
#include "core/kernels/cpu/product/tuning.h"

namespace lockstep::few_rows_impl {

using product::tuning::few_rows::kBytesAhead;
using product::tuning::few_rows::kRowsAhead;
using product::tuning::few_rows::kSide;

/// The distance from the row that is read to the one that is fetched; 0 if too few of `count` rows
/// follow `next`.
inline std::int64_t rows_ahead(std::int64_t next, std::int64_t count, std::int64_t stride) {
  return next + kRowsAhead <= count ? kRowsAhead * stride : 0;
}

/// Fetches a line that is needed soon.
[[gnu::always_inline]] inline void fetch(const void* line) {
  __builtin_prefetch(line, 0, 2);
}

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

/// Adds kRows rows of w, at most kSide, times their factors to the sums.
template <class S, class T, int kRows>
[[gnu::always_inline]] inline void add_side(std::int64_t rows, std::int64_t depth,
                                            std::int64_t columns, const float* x, const T* w,
                                            std::int64_t stride, std::int64_t fetched, float* sums,
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
        fetch(at + fetched);
        out = S::fma(factors[r], load<S>(at), out);
      }
      store<S>(out, sums + j);
    }
  }
  for (; j + S::kWidth <= columns; j += S::kWidth) {
    Vector weights[kRows];
    for (int r = 0; r < kRows; ++r) {
      const T* at = w + r * stride + j;
      fetch(at + fetched);
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
  if (rows == 1 && columns == stride) {  // all of w, in the order of memory
    constexpr std::int64_t kFetched = kBytesAhead / sizeof(T);
    for (; k < depth; ++k)
      add_side<S, T, 1>(1, depth, columns, x + k, w + k * stride, stride,
                        (depth - k - 1) * stride >= kFetched ? kFetched : 0, sums, sums_row);
  }
  for (; k + kSide <= depth; k += kSide)
    add_side<S, T, kSide>(rows, depth, columns, x + k, w + k * stride, stride,
                          rows_ahead(k + kSide, depth, stride), sums, sums_row);
  for (; k < depth; ++k)
    add_side<S, T, 1>(rows, depth, columns, x + k, w + k * stride, stride, 0, sums, sums_row);
}

/// kRows columns of a transposed product.
template <class S, class T, int kRows>
[[gnu::always_inline]] inline void dot_side(std::int64_t rows, std::int64_t depth, const float* x,
                                            const T* w, std::int64_t stride, std::int64_t fetched,
                                            float* sums, std::int64_t sums_row) {
  using Vector = typename S::Vector;
  for (std::int64_t i = 0; i < rows; ++i, x += depth, sums += sums_row) {
    Vector lanes[kRows] = {};
    std::int64_t k = 0;
    for (; k + S::kWidth <= depth; k += S::kWidth) {
      const Vector left = load<S>(x + k);
      for (int r = 0; r < kRows; ++r) {
        const T* at = w + r * stride + k;
        if (i == 0) fetch(at + fetched);
        lanes[r] = S::fma(left, load<S>(at), lanes[r]);
      }
    }
    for (int r = 0; r < kRows; ++r) {
      float out = add_lanes<S>(lanes[r]);
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
    dot_side<S, T, kSide>(rows, depth, x, w + j * stride, stride,
                          rows_ahead(j + kSide, columns, stride), sums + j, sums_row);
  for (; j < columns; ++j)
    dot_side<S, T, 1>(rows, depth, x, w + j * stride, stride, 0, sums + j, sums_row);
}

}  // namespace lockstep::few_rows_impl
