// Determines the pairs of tokens that byte-pair encoding merges (Sennrich et al. 2016): the most
// frequent pair of neighbours in a list of words becomes one token, repeatedly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

/// A word as tokens, and its number of occurrences in the text.
struct CountedWord {
  std::vector<std::int32_t> tokens;
  std::int64_t count;
};

struct MergeTraining {
  std::vector<std::string> tokens;  ///< by id: the tokens of the words
  std::vector<CountedWord> words;
  /// The prefix of tokens that do not begin their word; dropped when they are merged: "##".
  std::string continuing_prefix = "";
  std::size_t vocab_size;          ///< number of tokens at the end
  std::int64_t min_frequency = 0;  ///< rarer pairs are not merged
};

struct TrainedMerges {
  std::vector<std::string> tokens;                          ///< by id: first those given
  std::vector<std::pair<std::string, std::string>> merges;  ///< in order
};

/// Of equally frequent pairs the one with smaller ids is merged first: the same words give the same
/// merges. The time of each merge depends only on the words that it changes.
TrainedMerges train_merges(MergeTraining training);

}  // namespace lockstep
