// The reduction loops of VectorLoops, see vector_loops_impl.h.
#pragma once

#include <limits>
#include <type_traits>

#include "core/kernels/cpu/base/element.h"
#include "core/kernels/cpu/base/vector_loops.h"

namespace lockstep::vector_loops {

/// Partial results of a row: enough for two AVX-512 registers of f32. The lanes are combined
/// pairwise at the end, so the order of a row's additions is a function of its length alone.
inline constexpr std::int64_t kLanes = 32;

struct Sum : element::Add {
  template <class V>
  static constexpr V kIdentity = V{0};
};
struct Product : element::Multiply {
  template <class V>
  static constexpr V kIdentity = V{1};
};
struct Largest : element::Maximum {
  template <class V>
  static constexpr V kIdentity = std::numeric_limits<V>::has_infinity
                                     ? static_cast<V>(-std::numeric_limits<V>::infinity())
                                     : std::numeric_limits<V>::lowest();
};
struct Smallest : element::Minimum {
  template <class V>
  static constexpr V kIdentity = std::numeric_limits<V>::has_infinity
                                     ? std::numeric_limits<V>::infinity()
                                     : std::numeric_limits<V>::max();
};

/// Combines the lanes pairwise.
template <class F, class V>
[[gnu::always_inline]] inline V combine_lanes(V (&lane)[kLanes]) {
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2)
    for (std::int64_t j = 0; j < half; ++j) lane[j] = F::apply(lane[j], lane[j + half]);
  return lane[0];
}

template <Isa kIsa, class F, class T>
void reduce_row(const std::byte* in_bytes, std::int64_t count, std::byte* out) {
  using V = Computed<T>;
  const auto* in = reinterpret_cast<const Stored<T>*>(in_bytes);
  V lane[kLanes];
  for (auto& l : lane) l = F::template kIdentity<V>;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::int64_t j = 0; j < kLanes; ++j) lane[j] = F::apply(lane[j], widen(in[i + j]));
  if (i < count) {
    // A condition instead of a copied tail becomes a masked load.
    for (std::int64_t j = 0; j < kLanes; ++j) {
      const V element = i + j < count ? V{widen(in[i + j])} : F::template kIdentity<V>;
      lane[j] = F::apply(lane[j], element);
    }
  }
  *reinterpret_cast<V*>(out) = combine_lanes<F>(lane);
}

template <class F, class T, int kWidth>
[[gnu::always_inline]] inline void reduce_columns(const Stored<T>* in, std::int64_t rows,
                                                  std::int64_t stride, Computed<T>* out) {
  Computed<T> sum[kWidth];
  for (int j = 0; j < kWidth; ++j) sum[j] = widen(in[j]);
  for (std::int64_t r = 1; r < rows; ++r)
    for (int j = 0; j < kWidth; ++j) sum[j] = F::apply(sum[j], widen(in[r * stride + j]));
  for (int j = 0; j < kWidth; ++j) out[j] = sum[j];
}

template <Isa kIsa, class F, class T>
void reduce_column(const std::byte* in_bytes, std::int64_t rows, std::int64_t columns,
                   std::int64_t stride, std::byte* out_bytes) {
  const auto* in = reinterpret_cast<const Stored<T>*>(in_bytes);
  auto* out = reinterpret_cast<Computed<T>*>(out_bytes);
  std::int64_t c = 0;
  for (; c + 64 <= columns; c += 64) reduce_columns<F, T, 64>(in + c, rows, stride, out + c);
  for (; c + 8 <= columns; c += 8) reduce_columns<F, T, 8>(in + c, rows, stride, out + c);
  for (; c < columns; ++c) reduce_columns<F, T, 1>(in + c, rows, stride, out + c);
}

template <Isa kIsa, class F, class V>
void combine(const std::byte* in_bytes, std::int64_t columns, std::byte* out_bytes) {
  const auto* in = reinterpret_cast<const V*>(in_bytes);
  auto* out = reinterpret_cast<V*>(out_bytes);
#pragma GCC ivdep
  for (std::int64_t c = 0; c < columns; ++c) out[c] = F::apply(out[c], in[c]);
}

template <Isa kIsa, class F, class V>
void clear(std::int64_t columns, std::byte* out) {
  for (std::int64_t c = 0; c < columns; ++c)
    reinterpret_cast<V*>(out)[c] = F::template kIdentity<V>;
}

template <Isa kIsa, class F, class T>
ReduceLoops reduce_loops() {
  using V = Computed<T>;
  return {sizeof(V), reduce_row<kIsa, F, T>, reduce_column<kIsa, F, T>, combine<kIsa, F, V>,
          clear<kIsa, F, V>};
}

template <Isa kIsa>
ReduceLoops find_reduce(ReductionOp op, DType dtype) {
  return visit_dtype(dtype, [&](auto zero) -> ReduceLoops {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, bool>) {
      switch (op) {
        case ReductionOp::kReduceSum: return reduce_loops<kIsa, Sum, T>();
        case ReductionOp::kReduceProduct: return reduce_loops<kIsa, Product, T>();
        case ReductionOp::kReduceMax: return reduce_loops<kIsa, Largest, T>();
        case ReductionOp::kReduceMin: return reduce_loops<kIsa, Smallest, T>();
        case ReductionOp::kArgMax:
        case ReductionOp::kArgMin: break;
      }
    }
    return {};
  });
}

}  // namespace lockstep::vector_loops
