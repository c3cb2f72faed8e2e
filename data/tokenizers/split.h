// How a text is cut where a pattern matches: huggingface/tokenizers' SplitDelimiterBehavior
// (tokenizers/src/tokenizer/normalizer.rs). "a--b" with the pattern "-" becomes
//
//   Removed             a b
//   Isolated            a - - b
//   MergedWithPrevious  a- - b
//   MergedWithNext      a - -b
//   Contiguous          a -- b
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/json_place.h"

namespace lockstep {

enum class SplitBehavior : std::uint8_t {
  kRemoved,
  kIsolated,
  kMergedWithPrevious,
  kMergedWithNext,
  kContiguous
};

SplitBehavior split_behavior(const JsonPlace& json);

/// A part of a text, and whether the pattern matched it.
struct TextRange {
  std::size_t begin;
  std::size_t end;
  bool matched;
};

/// Turns the ranges of a whole text, in order, into the ranges that it is cut into.
std::vector<TextRange> cut(std::vector<TextRange> ranges, SplitBehavior behavior);

}  // namespace lockstep
