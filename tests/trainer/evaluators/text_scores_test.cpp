// tests/parity/nltk_text_scores_test.py compares random texts with NLTK.
#include "trainer/evaluators/text_scores.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace lockstep {
namespace {

TextScores scores_of(std::string_view text, const std::vector<std::string>& references) {
  TextScores out;
  out.add(text, references);
  return out;
}

TEST(TextScores, OfAReferenceItselfAreOne) {
  const TextScores scores = scores_of("a cat on the mat", {"a dog", "a cat on the mat"});
  EXPECT_EQ(scores.bleu(), 1);
  EXPECT_EQ(scores.exact_match(), 1);
}

TEST(TextScores, CountAnNgramAsOftenAsOneReferenceHasIt) {
  const TextScores scores =
      scores_of("the the the the the the the", {"the cat is on the mat", "a cat on the mat"});
  EXPECT_EQ(scores.matches, (std::array<std::int64_t, 4>{2, 0, 0, 0}));
  EXPECT_EQ(scores.ngrams, (std::array<std::int64_t, 4>{7, 6, 5, 4}));
  EXPECT_EQ(scores.bleu(), 0);
}

TEST(TextScores, OfAShortTextHaveOneNgramWithoutAMatch) {
  EXPECT_EQ(scores_of("a b", {"a b"}).ngrams, (std::array<std::int64_t, 4>{2, 1, 1, 1}));
  EXPECT_EQ(scores_of("", {"a b"}).ngrams, (std::array<std::int64_t, 4>{1, 1, 1, 1}));
  EXPECT_EQ(scores_of("a b", {"a b"}).bleu(), 0);
  EXPECT_EQ(scores_of("", {""}).bleu(), 0);
}

TEST(TextScores, PenalizeTextsThatAreShorterThanTheClosestReference) {
  // All n-grams match; 5 words of 4, of the references of 5 and 3 words.
  const TextScores scores = scores_of("a b c d", {"a b c d e f", "a b c d e", "x"});
  EXPECT_EQ(scores.reference_words, 5);
  EXPECT_DOUBLE_EQ(scores.bleu(), std::exp(1 - 5.0 / 4));
  EXPECT_EQ(scores_of("a b c d", {"a b c d e", "a b c"}).reference_words, 3) << "the shorter";
  EXPECT_EQ(scores_of("a b c d", {"a b c"}).matches[0], 3);
}

TEST(TextScores, OfACorpusPoolCounts) {
  // 5 + 2 of 10 words match, 4 + 0 of 8 pairs, 3 + 0 of 6 triples, 2 + 0 of 4 of four words.
  TextScores scores = scores_of("a b c d e", {"a b c d e"});
  scores += scores_of("a x b y z", {"b a"});
  EXPECT_DOUBLE_EQ(scores.bleu(), std::pow(0.7 * 0.5 * 0.5 * 0.5, 0.25));
  EXPECT_EQ(scores.exact_match(), 0.5);
}

TEST(TextScores, ReadAnyWhitespaceAsOneSpace) {
  EXPECT_EQ(scores_of("  a \t b\n", {"a b"}).exact, 1);
  EXPECT_EQ(scores_of("a b", {"\va\f\rb"}).exact, 1);
  EXPECT_EQ(scores_of("ab", {"a b"}).exact, 0);
  EXPECT_EQ(scores_of("A b", {"a b"}).exact, 0);
  EXPECT_EQ(scores_of(" ", {"a", ""}).exact, 1);
}

TEST(TextScores, AddUpInAnyOrderAndAsBytes) {
  const TextScores a = scores_of("a b c d", {"a b c", "c d"});
  const TextScores b = scores_of("x", {"x"});
  TextScores ab = a, ba = b;
  ab += b;
  ba += a;
  EXPECT_EQ(ab, ba);
  EXPECT_EQ(ab.texts, 2);
  EXPECT_EQ(TextScores::from_bytes(ab.to_bytes()), ab);
}

TEST(TextScores, OfNothingAreZero) {
  EXPECT_EQ(TextScores().bleu(), 0);
  EXPECT_EQ(TextScores().exact_match(), 0);
}

}  // namespace
}  // namespace lockstep
