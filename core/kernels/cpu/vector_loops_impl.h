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

/// Vectors of 64-bit lanes that hold 32-bit words, since the widening multiplication is all of
/// Philox and compilers do not find its instruction. Specialized where kTable is instantiated:
///   Vector          kCount lanes of std::uint64_t, a GCC vector type; kIota is 0, 1, 2, ...
///   multiply(a, b)  64-bit products of the low 32 bits of each lane
///   store(a, b, out)  out[4 i .. 4 i + 3] = the halves of a's, then of b's lane i
template <Isa kIsa>
struct PhiloxLanes;

/// `kVectors` vectors of blocks, independent of each other to hide the multiplier's latency.
template <Isa kIsa, int kVectors>
[[gnu::always_inline]] inline void philox_group(const PhiloxCounter& counter, std::uint64_t first,
                                                std::uint32_t* out) {
  using Lanes = PhiloxLanes<kIsa>;
  using Vector = typename Lanes::Vector;
  constexpr std::uint64_t kLow = 0xffffffffU;
  Vector c0[kVectors];
  Vector c1[kVectors];
  Vector c2[kVectors];
  Vector c3[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    const Vector index = Lanes::kIota + (first + static_cast<std::uint64_t>(v * Lanes::kCount));
    c0[v] = index & kLow;
    c3[v] = ((index >> 32) << 16 & kLow) ^ counter.step_high;
    c1[v] = Vector{} + counter.shard;
    c2[v] = Vector{} + counter.step_low;
  }
  std::uint32_t k0 = counter.key[0];
  std::uint32_t k1 = counter.key[1];
  for (int round = 0; round < 10; ++round) {
    for (int v = 0; v < kVectors; ++v) {
      const Vector p0 = Lanes::multiply(c0[v], Vector{} + 0xD2511F53U);
      const Vector p1 = Lanes::multiply(c2[v], Vector{} + 0xCD9E8D57U);
      c0[v] = (p1 >> 32) ^ c1[v] ^ k0;
      c1[v] = p1 & kLow;
      c2[v] = (p0 >> 32) ^ c3[v] ^ k1;
      c3[v] = p0 & kLow;
    }
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  for (int v = 0; v < kVectors; ++v)
    Lanes::store(c0[v] | c1[v] << 32, c2[v] | c3[v] << 32, out + 4 * v * Lanes::kCount);
}

template <Isa kIsa>
void philox(const PhiloxCounter& counter, std::uint64_t first_block, std::int64_t blocks,
            std::uint32_t* out) {
  constexpr int kUnit = 8 / PhiloxLanes<kIsa>::kCount;  // vectors of eight blocks
  std::int64_t b = 0;
  for (; b + 32 <= blocks; b += 32)
    philox_group<kIsa, 4 * kUnit>(counter, first_block + static_cast<std::uint64_t>(b),
                                  out + 4 * b);
  for (; b < blocks; b += 8)
    philox_group<kIsa, kUnit>(counter, first_block + static_cast<std::uint64_t>(b), out + 4 * b);
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

template <Isa kIsa, std::int64_t kStride>
void max_pool_strided(const float* x, std::int64_t stride, std::int64_t count, std::int32_t place,
                      float* best, std::int32_t* places) {
  const std::int64_t step = kStride > 0 ? kStride : stride;
#pragma GCC ivdep
  for (std::int64_t j = 0; j < count; ++j) {
    const float element = x[j * step];
    const float largest = best[j];
    const bool first = places[j] < 0;
    const bool better =
        first | ((largest == largest) & ((element > largest) | (element != element)));
    best[j] = better ? element : largest;
    places[j] = better ? place + static_cast<std::int32_t>(j * step) : places[j];
  }
}

template <Isa kIsa>
void max_pool(const float* x, std::int64_t stride, std::int64_t count, std::int32_t place,
              float* best, std::int32_t* places) {
  switch (stride) {
    case 1: return max_pool_strided<kIsa, 1>(x, stride, count, place, best, places);
    case 2: return max_pool_strided<kIsa, 2>(x, stride, count, place, best, places);
    default: return max_pool_strided<kIsa, 0>(x, stride, count, place, best, places);
  }
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
inline constexpr VectorLoops kTable = {
    .philox = philox<kIsa>,
    .reduce = find_reduce<kIsa>,
    .add = add<kIsa>,
    .to_f32 = to_f32<kIsa>,
    .from_f32 = from_f32<kIsa>,
    .max_pool = max_pool<kIsa>,
    .dropout = dropout<kIsa>,
    .softmax = softmax<kIsa>,
    .softmax_grad = softmax_grad<kIsa>,
};

}  // namespace lockstep::vector_loops
