// Shuffling without a table: a keyed bijection on [0, size) that computes any element in constant
// time and memory.
//
// A balanced Feistel network (Luby and Rackoff 1988) with Philox as the round function permutes the
// smallest set of 2^(2h) numbers that contains [0, size). A result outside of [0, size) is permuted
// again until it falls inside ("cycle walking", Black and Rogaway, "Ciphers with arbitrary finite
// domains", CT-RSA 2002), fewer than 4 times on average.
#pragma once

#include <cstdint>

#include "core/base/rng.h"

namespace lockstep {

class Permutation {
 public:
  /// The permutation of [0, size), size >= 1, for (seed, epoch), and for a stream if there are
  /// several.
  Permutation(std::uint64_t seed, std::uint64_t epoch, std::int64_t size,
              std::uint64_t stream = rng_stream("sampler"));

  /// Element `position` in [0, size).
  std::int64_t operator()(std::int64_t position) const;

 private:
  std::uint64_t encipher(std::uint64_t value) const;

  std::uint64_t seed_;
  std::uint64_t epoch_;
  std::uint64_t stream_;
  std::int64_t size_;
  int half_bits_;  ///< h
};

}  // namespace lockstep
