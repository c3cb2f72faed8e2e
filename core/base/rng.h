// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011; Random123). A value is a pure function of (seed, stream, step, micro_batch,
// position): there is no generator state to save, and recomputation reproduces every bit.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/api.h"

namespace LOCKSTEP_API lockstep {

/// Names an endless sequence of random words.
struct RngKey {
  std::uint64_t seed = 0;         ///< of the run
  std::uint64_t stream = 0;       ///< rng_stream(module path, call-site ordinal)
  std::uint64_t step = 0;         ///< of training; 0-based
  std::uint32_t micro_batch = 0;  ///< number within the step
};

/// A stream id from a name such as "h.3.attn" and the ordinal of the draw within it.
std::uint64_t rng_stream(std::string_view name, std::uint64_t ordinal = 0);

/// out[i] = word number first + i of the sequence.
void random_bits(const RngKey& key, std::uint64_t first, std::span<std::uint32_t> out);

/// Word number `position`.
std::uint32_t random_word(const RngKey& key, std::uint64_t position);

/// Uniform in [0, 1) with 24 bits.
inline float uniform_from_bits(std::uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1.0p-24F;
}

/// out[i] = standard normal number first + i (Box-Muller on words 2i and 2i+1, in f64).
void random_normal(const RngKey& key, std::uint64_t first, std::span<float> out);

}  // namespace lockstep
