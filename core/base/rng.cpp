#include "core/base/rng.h"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>

#include "core/base/hash.h"

namespace lockstep {
namespace {

// Philox has a 64-bit key and a 128-bit counter: seed and stream are mixed into the key; step
// (48 bits), micro-batch (32 bits) and block index (48 bits) share the counter.

/// Of all blocks: hashing takes longer than a block.
r123::Philox4x32::key_type mixed_key(const RngKey& key) {
  const std::uint64_t mixed = hash64({key.seed, key.stream});
  return {{static_cast<std::uint32_t>(mixed), static_cast<std::uint32_t>(mixed >> 32)}};
}

std::array<std::uint32_t, 4> block(const RngKey& key, const r123::Philox4x32::key_type& mixed,
                                   std::uint64_t index) {
  const r123::Philox4x32::ctr_type c = {
      {static_cast<std::uint32_t>(index), key.micro_batch, static_cast<std::uint32_t>(key.step),
       static_cast<std::uint32_t>((index >> 32) << 16) ^
           static_cast<std::uint32_t>((key.step >> 32) & 0xffff)}};
  const auto r = r123::Philox4x32{}(c, mixed);
  return {r[0], r[1], r[2], r[3]};
}

}  // namespace

std::uint64_t rng_stream(std::string_view name, std::uint64_t ordinal) {
  Hasher hasher;
  hasher.bytes(name.data(), name.size());
  hasher.value(ordinal);
  return hasher.finish().low;
}

void random_bits(const RngKey& key, std::uint64_t first, std::span<std::uint32_t> out) {
  const auto mixed = mixed_key(key);
  std::size_t i = 0;
  while (i < out.size()) {
    const std::uint64_t position = first + i;
    const auto words = block(key, mixed, position / 4);
    for (std::size_t lane = position % 4; lane < 4 && i < out.size(); ++lane)
      out[i++] = words[lane];
  }
}

std::uint32_t random_word(const RngKey& key, std::uint64_t position) {
  return block(key, mixed_key(key), position / 4)[position % 4];
}

void random_normal(const RngKey& key, std::uint64_t first, std::span<float> out) {
  const auto mixed = mixed_key(key);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t position = 2 * (first + i);
    const auto words = block(key, mixed, position / 4);
    // (bits + 1) / 2^32 lies in (0, 1], so that the logarithm is finite.
    const double u1 = (static_cast<double>(words[position % 4]) + 1.0) * 0x1.0p-32;
    const double u2 = static_cast<double>(words[position % 4 + 1]) * 0x1.0p-32;
    out[i] =
        static_cast<float>(std::sqrt(-2.0 * std::log(u1)) * std::cos(2.0 * std::numbers::pi * u2));
  }
}

}  // namespace lockstep
