// The Philox loop of VectorLoops, see vector_loops_impl.h.
#pragma once

#include <cstdint>

#include "core/kernels/cpu/base/vector_loops.h"

namespace lockstep::vector_loops {

/// Vectors of 64-bit lanes that hold 32-bit words, since the widening multiplication is most of
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
    c1[v] = Vector{} + counter.micro_batch;
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

}  // namespace lockstep::vector_loops
