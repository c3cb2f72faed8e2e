// Scores of generated texts against references: BLEU-4 and exact match, as counts that add up.
//
// Words are what whitespace separates: space, tab, newline, vertical tab, form feed, carriage
// return. Texts are compared as bytes, without any change of case or punctuation.
//
// BLEU: Papineni et al. 2002, "BLEU: a method for automatic evaluation of machine translation", of
// a corpus, with the same weight for n-grams of 1, 2, 3 and 4 words and no smoothing. Counts are
// those of NLTK's corpus_bleu: a text without n-grams of some length counts as one n-gram of that
// length without a match.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lockstep {

/// Of any number of texts. Integers, so that the order of additions does not matter: the scores are
/// the same for any number of ranks.
struct TextScores {
  static constexpr std::size_t kMaxWords = 4;  ///< of an n-gram

  std::int64_t texts = 0;
  std::int64_t exact = 0;  ///< texts that equal a reference; runs of whitespace are one space
  /// Of n-grams of 1 to 4 words: those of the texts that a reference has, too, each at most as
  /// often as in the reference that has it most often; and all.
  std::array<std::int64_t, kMaxWords> matches = {};
  std::array<std::int64_t, kMaxWords> ngrams = {};
  std::int64_t words = 0;  ///< of the texts
  /// Words of each text's reference of the closest length; of equally close ones the shorter.
  std::int64_t reference_words = 0;

  /// Counts one text against one or more references.
  void add(std::string_view text, std::span<const std::string> references);
  TextScores& operator+=(const TextScores& other);
  friend bool operator==(const TextScores&, const TextScores&) = default;

  /// In [0, 1]: brevity penalty times the geometric mean of matches / ngrams; 0 without a match of
  /// any of the four lengths. The brevity penalty is exp(1 - reference_words / words) for texts
  /// that are shorter than their references together, else 1.
  double bleu() const;
  /// The share of exact texts; 0 of no texts.
  double exact_match() const;

  /// For an Evaluator's partial results.
  std::string to_bytes() const;
  static TextScores from_bytes(std::string_view bytes);
};

}  // namespace lockstep
