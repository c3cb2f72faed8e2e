// Functions that generated code calls.
#pragma once

#include <cstdint>

namespace lockstep::codegen {

inline constexpr const char* kSineSymbol = "lockstep_sine";
inline constexpr const char* kCosineSymbol = "lockstep_cosine";
inline constexpr const char* kRemainderSymbol = "lockstep_remainder";
inline constexpr const char* kPhiloxKeySymbol = "lockstep_philox_key";

/// The initial state of random_bits for a key, see base/rng.cpp.
struct PhiloxKey {
  std::uint32_t key[2];
  std::uint32_t micro_batch;
  std::uint32_t step_low;
  std::uint32_t step_high;
};

/// The address of one of the functions above; null for any other name.
///   sine, cosine   void(const float* x, float* out), sixteen elements
///   remainder      void(const float* a, const float* b, float* out), likewise
///   philox_key     void(u64 seed, u64 stream, u64 step, u64 micro_batch, PhiloxKey* out)
const void* find_runtime_symbol(const char* name);

}  // namespace lockstep::codegen
