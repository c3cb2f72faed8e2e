#include "core/kernels/codegen/partial_sums.h"

#include <type_traits>

#include "core/kernels/base/element_conversion.h"

namespace lockstep::codegen {
namespace {

template <class V>
V sum_of(V a, V b) {
  if constexpr (std::is_floating_point_v<V>) {
    return a + b;
  } else {
    return static_cast<V>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
}

/// Calls f with a zero of the type of partial results and one of the stored type.
template <class F>
void visit_partial(DType dtype, const F& f) {
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    f(Computed<T>{}, T{});
  });
}

}  // namespace

void add_partials(DType dtype, const std::byte* from_bytes, std::int64_t count,
                  std::byte* to_bytes) {
  visit_partial(dtype, [&](auto partial, auto) {
    using V = decltype(partial);
    const auto* from = reinterpret_cast<const V*>(from_bytes);
    auto* to = reinterpret_cast<V*>(to_bytes);
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) to[i] = sum_of(to[i], from[i]);
  });
}

void store_partials(DType dtype, const std::byte* from_bytes, std::int64_t count,
                    std::byte* to_bytes) {
  visit_partial(dtype, [&](auto partial, auto stored) {
    using V = decltype(partial);
    using T = decltype(stored);
    const auto* from = reinterpret_cast<const V*>(from_bytes);
    auto* to = reinterpret_cast<Stored<T>*>(to_bytes);
    for (std::int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<T, F16>) {
        to[i] = F16{f16_from_float(from[i])};
      } else {
        to[i] = narrow<T>(from[i]);
      }
    }
  });
}

void sum_total(DType dtype, std::byte* parts_bytes, std::int64_t count, std::byte* result) {
  visit_partial(dtype, [&](auto partial, auto) {
    using V = decltype(partial);
    auto* parts = reinterpret_cast<V*>(parts_bytes);
    V zero{};
    for (std::int64_t left = count; left > 1;) {
      const std::int64_t half = (left + 1) / 2;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < left - half; ++i) parts[i] = sum_of(parts[i], parts[half + i]);
      left = half;
    }
    store_partials(dtype, count == 0 ? reinterpret_cast<const std::byte*>(&zero) : parts_bytes, 1,
                   result);
  });
}

}  // namespace lockstep::codegen
