// Which pairs of tokens byte-pair encoding merges (Sennrich et al. 2016): the most frequent pair of
// neighbours in a list of words becomes one token, again and again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

/// A word as tokens, and how often it is in the text.
struct CountedWord {
  std::vector<std::int32_t> tokens;
  std::int64_t count;
};

struct MergeTraining {
  std::vector<std::string> tokens;  ///< by id: those of the words
  std::vector<CountedWord> words;
  /// What begins tokens that do not begin their word, and goes when they are merged: "##".
  std::string continuing_prefix = "";
  std::size_t vocab_size;          ///< of tokens in the end
  std::int64_t min_frequency = 0;  ///< pairs that are rarer are not merged
};

struct TrainedMerges {
  std::vector<std::string> tokens;                          ///< by id: those given, then those made
  std::vector<std::pair<std::string, std::string>> merges;  ///< in order
};

/// Of pairs that are equally frequent the one of smaller ids goes first: the same words give the
/// same merges. Each merge takes time only for the words that it changes.
TrainedMerges train_merges(MergeTraining training);

}  // namespace lockstep
