#include "data/tokenizers/merge_training.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "core/base/error.h"

namespace lockstep {
namespace {

using Pair = std::uint64_t;  // left id << 32 | right id

Pair pair_of(std::int32_t left, std::int32_t right) {
  return Pair{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

/// A pair that was so frequent when it was queued.
struct MergeCandidate {
  std::int64_t count;
  Pair pair;
  bool operator<(const MergeCandidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

class Trainer {
 public:
  explicit Trainer(MergeTraining training) : training_(std::move(training)) {
    for (std::size_t i = 0; i < training_.tokens.size(); ++i)
      ids_.emplace(training_.tokens[i], static_cast<std::int32_t>(i));
    for (std::size_t i = 0; i < training_.words.size(); ++i) count_pairs(i, 1);
    for (const auto& [pair, seen] : pairs_) candidates_.push({seen.count, pair});
  }

  TrainedMerges run() {
    while (training_.tokens.size() < training_.vocab_size && !candidates_.empty()) {
      const MergeCandidate top = candidates_.top();
      candidates_.pop();
      const std::int64_t count = pairs_[top.pair].count;
      if (count < 1) continue;
      if (count < top.count) candidates_.push({count, top.pair});
      if (count != top.count) continue;  // rarer by now, or queued again after it grew
      if (count < training_.min_frequency) break;
      merge(top.pair);
    }
    return {std::move(training_.tokens), std::move(merges_)};
  }

 private:
  struct Seen {
    std::int64_t count = 0;
    std::vector<std::uint32_t> words;  ///< the words that contain or contained it
  };

  /// Adds the pairs of a word, or removes them (`sign` -1).
  void count_pairs(std::size_t index, std::int64_t sign) {
    const CountedWord& word = training_.words[index];
    for (std::size_t i = 1; i < word.tokens.size(); ++i) {
      Seen& seen = pairs_[pair_of(word.tokens[i - 1], word.tokens[i])];
      seen.count += sign * word.count;
      const auto here = static_cast<std::uint32_t>(index);
      if (sign > 0 && (seen.words.empty() || seen.words.back() != here)) seen.words.push_back(here);
    }
  }

  void merge(Pair pair) {
    const auto left = static_cast<std::int32_t>(pair >> 32);
    const auto right = static_cast<std::int32_t>(pair & 0xFFFFFFFFU);
    const std::int32_t merged = token_of(left, right);
    std::vector<std::uint32_t> words = std::move(pairs_[pair].words);
    std::ranges::sort(words);
    words.erase(std::unique(words.begin(), words.end()), words.end());
    std::vector<Pair> grown;
    for (const std::uint32_t index : words) {
      count_pairs(index, -1);
      std::vector<std::int32_t>& tokens = training_.words[index].tokens;
      join(tokens, left, right, merged);
      count_pairs(index, 1);
      for (std::size_t i = 1; i < tokens.size(); ++i)
        if (tokens[i - 1] == merged || tokens[i] == merged)
          grown.push_back(pair_of(tokens[i - 1], tokens[i]));
    }
    std::ranges::sort(grown);
    grown.erase(std::unique(grown.begin(), grown.end()), grown.end());
    for (const Pair one : grown) candidates_.push({pairs_[one].count, one});
    pairs_.erase(pair);
  }

  /// The token that replaces a pair: a new one, unless another pair has already made it.
  std::int32_t token_of(std::int32_t left, std::int32_t right) {
    const std::string& a = training_.tokens[static_cast<std::size_t>(left)];
    const std::string& b = training_.tokens[static_cast<std::size_t>(right)];
    merges_.emplace_back(a, b);
    const bool continues = b.starts_with(training_.continuing_prefix);
    std::string text = a + (continues ? b.substr(training_.continuing_prefix.size()) : b);
    const auto [found, is_new] =
        ids_.emplace(text, static_cast<std::int32_t>(training_.tokens.size()));
    if (is_new) training_.tokens.push_back(std::move(text));
    return found->second;
  }

  static void join(std::vector<std::int32_t>& tokens, std::int32_t left, std::int32_t right,
                   std::int32_t merged) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i, ++kept) {
      const bool joins = tokens[i] == left && i + 1 < tokens.size() && tokens[i + 1] == right;
      tokens[kept] = joins ? merged : tokens[i];
      if (joins) ++i;
    }
    tokens.resize(kept);
  }

  MergeTraining training_;
  std::unordered_map<std::string, std::int32_t> ids_;
  std::unordered_map<Pair, Seen> pairs_;
  std::priority_queue<MergeCandidate> candidates_;
  std::vector<std::pair<std::string, std::string>> merges_;
};

}  // namespace

TrainedMerges train_merges(MergeTraining training) {
  LS_CHECK(training.words.size() <= UINT32_MAX, "{} words", training.words.size());
  return Trainer(std::move(training)).run();
}

}  // namespace lockstep
