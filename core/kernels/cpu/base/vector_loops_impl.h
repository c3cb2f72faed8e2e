// VectorLoops for one instruction set; included only by the sources compiled for one. Everything is
// a template over the instruction set.
#pragma once

#include <limits>

#include "core/kernels/cpu/base/element.h"
#include "core/kernels/cpu/base/philox_loops.h"
#include "core/kernels/cpu/base/reduce_loops.h"
#include "core/kernels/cpu/base/vector_loops.h"

namespace lockstep::vector_loops {

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
void max_pool_strided(const float* x, std::int64_t stride, std::int64_t count, std::int32_t index,
                      float* best, std::int32_t* indices) {
  const std::int64_t step = kStride > 0 ? kStride : stride;
#pragma GCC ivdep
  for (std::int64_t j = 0; j < count; ++j) {
    const float element = x[j * step];
    const float largest = best[j];
    const bool first = indices[j] < 0;
    const bool better =
        first | ((largest == largest) & ((element > largest) | (element != element)));
    best[j] = better ? element : largest;
    indices[j] = better ? index + static_cast<std::int32_t>(j * step) : indices[j];
  }
}

template <Isa kIsa>
void max_pool(const float* x, std::int64_t stride, std::int64_t count, std::int32_t index,
              float* best, std::int32_t* indices) {
  switch (stride) {
    case 1: return max_pool_strided<kIsa, 1>(x, stride, count, index, best, indices);
    case 2: return max_pool_strided<kIsa, 2>(x, stride, count, index, best, indices);
    default: return max_pool_strided<kIsa, 0>(x, stride, count, index, best, indices);
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
inline constexpr VectorLoops kTable = {
    .philox = philox<kIsa>,
    .reduce = find_reduce<kIsa>,
    .add = add<kIsa>,
    .to_f32 = to_f32<kIsa>,
    .from_f32 = from_f32<kIsa>,
    .max_pool = max_pool<kIsa>,
    .dropout = dropout<kIsa>,
};

}  // namespace lockstep::vector_loops
