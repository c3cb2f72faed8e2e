// VectorLoops for one instruction set; included only by the sources compiled for one. Everything is
// a template over the instruction set, see tile_ops_loops.h.
#pragma once

#include <limits>

#include "core/kernels/cpu/element_ops.h"
#include "core/kernels/cpu/vector_loops.h"

namespace lockstep::vector_loops {

/// Partial results of a row: enough for two AVX-512 registers of f32. The lanes are combined
/// pairwise at the end, so the order of a row's additions is a function of its length alone.
inline constexpr std::int64_t kLanes = 32;

/// Philox blocks computed side by side.
inline constexpr int kBlocks = 8;

template <Isa kIsa>
void philox(const PhiloxCounter& counter, std::uint64_t first_block, std::int64_t blocks,
            std::uint32_t* out) {
  for (std::int64_t b = 0; b < blocks; b += kBlocks, out += 4 * kBlocks) {
    std::uint32_t c0[kBlocks];
    std::uint32_t c1[kBlocks];
    std::uint32_t c2[kBlocks];
    std::uint32_t c3[kBlocks];
    for (int j = 0; j < kBlocks; ++j) {
      const std::uint64_t index =
          first_block + static_cast<std::uint64_t>(b) + static_cast<std::uint64_t>(j);
      c0[j] = static_cast<std::uint32_t>(index);
      c1[j] = counter.shard;
      c2[j] = counter.step_low;
      c3[j] = (static_cast<std::uint32_t>(index >> 32) << 16) ^ counter.step_high;
    }
    std::uint32_t k0 = counter.key[0];
    std::uint32_t k1 = counter.key[1];
    for (int round = 0; round < 10; ++round) {
      for (int j = 0; j < kBlocks; ++j) {
        const std::uint64_t p0 = std::uint64_t{c0[j]} * 0xD2511F53U;
        const std::uint64_t p1 = std::uint64_t{c2[j]} * 0xCD9E8D57U;
        c0[j] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[j] ^ k0;
        c1[j] = static_cast<std::uint32_t>(p1);
        c2[j] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[j] ^ k1;
        c3[j] = static_cast<std::uint32_t>(p0);
      }
      k0 += 0x9E3779B9U;
      k1 += 0xBB67AE85U;
    }
    for (int j = 0; j < kBlocks; ++j) {
      out[4 * j] = c0[j];
      out[4 * j + 1] = c1[j];
      out[4 * j + 2] = c2[j];
      out[4 * j + 3] = c3[j];
    }
  }
}

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
    V rest[kLanes];
    for (auto& r : rest) r = F::template kIdentity<V>;
    for (std::int64_t j = 0; i + j < count; ++j) rest[j] = widen(in[i + j]);
    for (std::int64_t j = 0; j < kLanes; ++j) lane[j] = F::apply(lane[j], rest[j]);
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
ReduceLoops find_reduce(Op op, DType dtype) {
  return visit_dtype(dtype, [&](auto zero) -> ReduceLoops {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, bool>) {
      switch (op) {
        case Op::kReduceSum: return reduce_loops<kIsa, Sum, T>();
        case Op::kReduceProduct: return reduce_loops<kIsa, Product, T>();
        case Op::kReduceMax: return reduce_loops<kIsa, Largest, T>();
        case Op::kReduceMin: return reduce_loops<kIsa, Smallest, T>();
        default: break;
      }
    }
    return {};
  });
}

template <Isa kIsa>
void add(DType dtype, const std::byte* from_bytes, std::int64_t count, std::byte* to_bytes) {
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto* from = reinterpret_cast<const Stored<T>*>(from_bytes);
    auto* to = reinterpret_cast<Stored<T>*>(to_bytes);
    if constexpr (!std::is_same_v<T, bool>) {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < count; ++i)
        to[i] = narrow<T>(element::Add::apply(widen(to[i]), widen(from[i])));
    }
  });
}

template <Isa kIsa>
void to_f32(DType dtype, const std::byte* from_bytes, std::int64_t count, float* to) {
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto* from = reinterpret_cast<const Stored<T>*>(from_bytes);
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) to[i] = element::convert<float>(widen(from[i]));
  });
}

template <Isa kIsa>
void from_f32(DType dtype, const float* from, std::int64_t count, std::byte* to_bytes) {
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    auto* to = reinterpret_cast<Stored<T>*>(to_bytes);
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) to[i] = narrow<T>(element::convert<T>(from[i]));
  });
}

template <Isa kIsa>
void dropout(const std::uint32_t* bits, std::uint32_t threshold, float scale, std::int64_t count,
             float* row) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i)
    row[i] = bits[i] >> 8 < threshold ? 0.0F : row[i] * scale;
}

template <Isa kIsa>
void softmax(float* row, std::int64_t count) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  float lane[kLanes];
  for (auto& l : lane) l = -kInf;
  for (std::int64_t i = 0; i < count; i += kLanes)
    for (std::int64_t j = 0; j < kLanes; ++j)
      lane[j] = element::Maximum::apply(lane[j], row[i + j]);
  const float largest = combine_lanes<element::Maximum>(lane);
  const bool nothing = largest == -kInf;
  const float shift = nothing ? 0.0F : largest;  // exp(-infinity - 0) is the wanted 0
  for (auto& l : lane) l = 0.0F;
  for (std::int64_t i = 0; i < count; i += kLanes) {
#pragma GCC ivdep
    for (std::int64_t j = 0; j < kLanes; ++j) {
      const float e = vector_math::exp(row[i + j] - shift);
      row[i + j] = e;
      lane[j] += e;
    }
  }
  const float sum = combine_lanes<element::Add>(lane);
  const float scale = nothing ? 0.0F : 1.0F / sum;
  for (std::int64_t i = 0; i < count; ++i) row[i] *= scale;
}

template <Isa kIsa>
void softmax_grad(const float* p, std::int64_t count, float scale, float* row) {
  float lane[kLanes] = {};
  for (std::int64_t i = 0; i < count; i += kLanes)
    for (std::int64_t j = 0; j < kLanes; ++j)
      lane[j] = vector_math::fma(p[i + j], row[i + j], lane[j]);
  const float mean = combine_lanes<element::Add>(lane);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) row[i] = p[i] * (row[i] - mean) * scale;
}

template <Isa kIsa>
inline constexpr VectorLoops kTable = {philox<kIsa>,  find_reduce<kIsa>, add<kIsa>,
                                       to_f32<kIsa>,  from_f32<kIsa>,    dropout<kIsa>,
                                       softmax<kIsa>, softmax_grad<kIsa>};

}  // namespace lockstep::vector_loops
