#include "data/permutation.h"

#include <algorithm>
#include <bit>

#include "core/base/error.h"
#include "core/base/rng.h"

namespace lockstep {
namespace {

// Four rounds suffice in theory for large halves. Tiny datasets have halves of one or two bits; the
// extra rounds make their orders look random.
constexpr std::uint32_t kRounds = 12;

}  // namespace

Permutation::Permutation(std::uint64_t seed, std::uint64_t epoch, std::int64_t size,
                         std::uint64_t stream)
    : seed_(seed), epoch_(epoch), stream_(stream), size_(size) {
  LS_CHECK(size >= 1, "a permutation of {} elements", size);
  const int bits = std::bit_width(static_cast<std::uint64_t>(size - 1));
  half_bits_ = std::max(1, (bits + 1) / 2);
}

std::uint64_t Permutation::encipher(std::uint64_t value) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & mask;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const std::uint32_t f = random_word({seed_, stream_, epoch_, round}, right);
    const std::uint64_t next = left ^ (f & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

std::int64_t Permutation::operator()(std::int64_t position) const {
  LS_CHECK(position >= 0 && position < size_, "position {} of a permutation of {}", position,
           size_);
  auto value = static_cast<std::uint64_t>(position);
  do {
    value = encipher(value);
  } while (value >= static_cast<std::uint64_t>(size_));
  return static_cast<std::int64_t>(value);
}

}  // namespace lockstep
