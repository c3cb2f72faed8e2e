// How a text that is longer than a model's context is scored: in windows that overlap.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

/// Tokens [begin, end) of a text, of which those from `scored` on are predicted from the ones
/// before them in the window.
struct ScoredWindow {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t scored = 0;
  friend bool operator==(const ScoredWindow&, const ScoredWindow&) = default;
};

/// Windows of `context` tokens that begin `stride` tokens apart, the last one where the text ends.
/// Each scores the tokens that no window before it has, but not its own first token, which nothing
/// precedes. So each token but the first is scored once (with a stride of the whole context: but
/// the first of each window), with at least context - stride tokens before it from the second
/// window on: the rule of Hugging Face's documentation for models of a fixed length.
/// `stride` is from 1 to `context`. None for a text of fewer than two tokens.
std::vector<ScoredWindow> scored_windows(std::int64_t tokens, std::int64_t context,
                                         std::int64_t stride);

}  // namespace lockstep
