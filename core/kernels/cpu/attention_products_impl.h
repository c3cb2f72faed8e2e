// Packing and products of AttentionLoops, see attention_loops_impl.h.
#pragma once

#include <type_traits>

#include "core/kernels/base/element_conversion.h"
#include "core/kernels/cpu/attention_loops.h"

namespace lockstep::attention_loops_impl {

using Unit = AttentionLoops::Unit;
inline constexpr std::int64_t kPanel = AttentionLoops::kPanel;
inline constexpr std::int64_t kBlock = AttentionLoops::kBlock;

template <class S>
typename S::Vector load(const void* from) {
  typename S::Vector out;
  __builtin_memcpy(&out, from, sizeof out);
  return out;
}
template <class S>
void store_vector(typename S::Vector x, void* to) {
  __builtin_memcpy(to, &x, sizeof x);
}

/// each(i) for all i < count, in runs of a vector's length that the compiler unrolls: rows are as
/// short as 32 elements, and calls and loop ends would cost more than their elements.
template <class S, class F>
[[gnu::always_inline]] inline void for_each_element(std::int64_t count, const F& each) {
  std::int64_t i = 0;
  for (; i + S::kWidth <= count; i += S::kWidth)
#pragma GCC ivdep
    for (int j = 0; j < S::kWidth; ++j) each(i + j);
  for (; i < count; ++i) each(i);
}

template <class S, class T>
void load_typed_rows(const T* from, std::int64_t stride, std::int64_t rows,
                     std::int64_t padded_rows, std::int64_t depth, Unit* to) {
  using Element = std::conditional_t<S::kPair == 2, std::uint16_t, float>;
  const std::int64_t padded = (depth + kPanel - 1) / kPanel * kPanel;
  auto* out = reinterpret_cast<Element*>(to);
  for (std::int64_t r = 0; r < rows; ++r, out += padded) {
    const T* row = from + r * stride;
    for_each_element<S>(depth, [&](std::int64_t d) {
      if constexpr (sizeof(T) == sizeof(Element)) {
        __builtin_memcpy(out + d, row + d, sizeof(T));
      } else {
        out[d] = widen(row[d]);
      }
    });
    for (std::int64_t d = depth; d < padded; ++d) out[d] = Element{0};
  }
  const std::int64_t rest = (padded_rows - rows) * padded;
  for (std::int64_t i = 0; i < rest; ++i) out[i] = Element{0};
}

template <class S>
void load_rows(DType dtype, const std::byte* from, std::int64_t stride, std::int64_t rows,
               std::int64_t padded_rows, std::int64_t depth, Unit* to) {
  const auto typed = [&](auto zero) {
    using T = decltype(zero);
    load_typed_rows<S>(reinterpret_cast<const T*>(from), stride, rows, padded_rows, depth, to);
  };
  if constexpr (S::kPair == 2) {
    typed(BF16{});
  } else {
    if (dtype == DType::kF32) typed(0.0F);
    if (dtype == DType::kBF16) typed(BF16{});
    if (dtype == DType::kF16) typed(F16{});
  }
}

/// Squares of kWidth x kWidth units: interleaving the first half of the rows with the second
/// log2(kWidth) times exchanges rows and columns.
template <class S>
void transpose(const Unit* from, std::int64_t stride, std::int64_t rows, std::int64_t units,
               Unit* to) {
  using Vector = typename S::Vector;
  constexpr std::int64_t kW = S::kWidth;
  for (std::int64_t r = 0; r < rows; r += kW) {
    Unit* panel = to + r / kPanel * units * kPanel + r % kPanel;
    for (std::int64_t u = 0; u < units; u += kW) {
      Vector x[kW];
      Vector y[kW];
      for (int i = 0; i < kW; ++i) x[i] = load<S>(from + (r + i) * stride + u);
      for (int half = kW; half > 1; half /= 2) {
        for (int i = 0; i < kW / 2; ++i) {
          y[2 * i] = S::interleave_low(x[i], x[i + kW / 2]);
          y[2 * i + 1] = S::interleave_high(x[i], x[i + kW / 2]);
        }
        for (int i = 0; i < kW; ++i) x[i] = y[i];
      }
      for (int i = 0; i < kW; ++i) store_vector<S>(x[i], panel + (u + i) * kPanel);
    }
  }
}

template <class S>
void interleave(const Unit* from, std::int64_t stride, std::int64_t rows, std::int64_t units,
                Unit* to) {
  constexpr std::int64_t kPanelUnits = kPanel / S::kPair;
  for (std::int64_t u = 0; u < units; u += kPanelUnits)
    for (std::int64_t r = 0; r < rows; r += S::kPair, to += kPanel) {
      const Unit* row = from + r * stride + u;
      if constexpr (S::kPair == 2) {
        std::uint16_t first[kPanel];
        std::uint16_t second[kPanel];
        __builtin_memcpy(first, row, sizeof first);
        __builtin_memcpy(second, row + stride, sizeof second);
#pragma GCC ivdep
        for (std::int64_t j = 0; j < kPanel; ++j)
          to[j] = static_cast<Unit>(first[j]) | static_cast<Unit>(second[j]) << 16;
      } else {
        __builtin_memcpy(to, row, kPanel * sizeof(Unit));
      }
    }
}

/// A block of a product fetches one row ahead for each kUnitsPerRow of its units.
inline constexpr std::int64_t kUnitsPerRow = 4;

/// S::kRows rows and kV vectors of a product, held in registers.
template <class S, int kV>
[[gnu::always_inline]] inline void product_block(std::int64_t units, const Unit* a,
                                                 std::int64_t a_row, std::int64_t a_unit,
                                                 const Unit* panel, float* c, std::int64_t c_row,
                                                 bool add, Prefetcher& prefetcher) {
  using Vector = typename S::Vector;
  constexpr int kR = S::kRows;
  constexpr std::int64_t kW = S::kWidth;
  Vector sum[kR][kV];
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kV; ++v) sum[r][v] = add ? load<S>(c + r * c_row + v * kW) : Vector{};
  while (units > 0) {
    prefetcher.fetch();
    std::int64_t some = units < kUnitsPerRow ? units : kUnitsPerRow;
    units -= some;
    for (; some > 0; --some, a += a_unit, panel += kPanel) {
      Vector b[kV];
#pragma GCC unroll 8
      for (int v = 0; v < kV; ++v) b[v] = load<S>(panel + v * kW);
#pragma GCC unroll 8
      for (int r = 0; r < kR; ++r) {
        const Vector x = S::broadcast(a[r * a_row]);
#pragma GCC unroll 8
        for (int v = 0; v < kV; ++v) sum[r][v] = S::multiply_add(x, b[v], sum[r][v]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kV; ++v) store_vector<S>(sum[r][v], c + r * c_row + v * kW);
}

template <class S, int kV>
void product_blocks(std::int64_t rows, std::int64_t columns, std::int64_t units, const Unit* a,
                    std::int64_t a_row, std::int64_t a_unit, const Unit* panel, float* c,
                    std::int64_t c_row, bool add, Prefetcher& prefetcher) {
  for (std::int64_t r = 0; r < rows; r += S::kRows, a += S::kRows * a_row, c += S::kRows * c_row)
    for (std::int64_t j = 0; j < columns; j += kV * S::kWidth) {
      if (a_unit == 1) {
        product_block<S, kV>(units, a, a_row, 1, panel + j, c + j, c_row, add, prefetcher);
      } else {
        product_block<S, kV>(units, a, a_row, a_unit, panel + j, c + j, c_row, add, prefetcher);
      }
    }
}

template <class S>
void product(std::int64_t rows, std::int64_t columns, std::int64_t units, const Unit* a,
             std::int64_t a_row, std::int64_t a_unit, const Unit* panel, float* c,
             std::int64_t c_row, bool add, Prefetcher& prefetcher) {
  constexpr int kHalf = kPanel / 2 / S::kWidth;
  if (columns == kPanel) {
    product_blocks<S, S::kVectors>(rows, columns, units, a, a_row, a_unit, panel, c, c_row, add,
                                   prefetcher);
  } else {
    product_blocks<S, kHalf>(rows, columns, units, a, a_row, a_unit, panel, c, c_row, add,
                             prefetcher);
  }
}

}  // namespace lockstep::attention_loops_impl
