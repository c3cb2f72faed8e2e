// The lengths of random samples: parts of the samples, each with lengths of a range.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/api.h"

namespace LOCKSTEP_API lockstep {

/// Samples whose lengths are uniform in min <= length <= max.
struct LengthShare {
  std::int64_t min = 1;    ///< shortest
  std::int64_t max = 1;    ///< longest
  double probability = 1;  ///< of a sample to be one of these
  friend bool operator==(const LengthShare&, const LengthShare&) = default;
};

/// What is wrong with the shares, after the words "the lengths"; "" if nothing is: they are at
/// least 1, no range is backward, and probabilities are positive with a sum of 1 (within 1e-6).
std::string problem_of(std::span<const LengthShare> shares);

/// A length drawn with two random words (core/base/rng.h).
std::int64_t drawn_length(std::span<const LengthShare> shares,
                          std::span<const std::uint32_t, 2> words);

/// The largest length.
std::int64_t longest_of(std::span<const LengthShare> shares);

}  // namespace lockstep
