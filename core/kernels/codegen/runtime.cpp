#include "core/kernels/codegen/runtime.h"

#include <cmath>
#include <cstring>

#include "core/base/hash.h"
#include "core/kernels/codegen/loop_nest.h"

namespace lockstep::codegen {
namespace {

void sine(const float* x, float* out) {
  for (std::int64_t i = 0; i < kLanes; ++i)
    out[i] = static_cast<float>(std::sin(static_cast<double>(x[i])));
}

void cosine(const float* x, float* out) {
  for (std::int64_t i = 0; i < kLanes; ++i)
    out[i] = static_cast<float>(std::cos(static_cast<double>(x[i])));
}

void remainder(const float* a, const float* b, float* out) {
  for (std::int64_t i = 0; i < kLanes; ++i) out[i] = std::fmod(a[i], b[i]);
}

void philox_key(std::uint64_t seed, std::uint64_t stream, std::uint64_t step,
                std::uint64_t micro_batch, PhiloxKey* out) {
  // The layout of key and counter is that of base/rng.cpp.
  const std::uint64_t mixed = hash64({seed, stream});
  *out = {{static_cast<std::uint32_t>(mixed), static_cast<std::uint32_t>(mixed >> 32)},
          static_cast<std::uint32_t>(micro_batch),
          static_cast<std::uint32_t>(step),
          static_cast<std::uint32_t>((step >> 32) & 0xffff)};
}

}  // namespace

const void* find_runtime_symbol(const char* name) {
  const auto is = [&](const char* symbol) { return std::strcmp(name, symbol) == 0; };
  if (is(kSineSymbol)) return reinterpret_cast<const void*>(&sine);
  if (is(kCosineSymbol)) return reinterpret_cast<const void*>(&cosine);
  if (is(kRemainderSymbol)) return reinterpret_cast<const void*>(&remainder);
  if (is(kPhiloxKeySymbol)) return reinterpret_cast<const void*>(&philox_key);
  return nullptr;
}

}  // namespace lockstep::codegen
