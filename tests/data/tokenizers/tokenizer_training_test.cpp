#include "data/tokenizers/tokenizer_training.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "data/tokenizers/merge_training.h"
#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

using TextPairs = std::vector<std::pair<std::string, std::string>>;

/// Words of single letters.
MergeTraining training_of(const std::map<std::string, std::int64_t>& counts) {
  MergeTraining out;
  std::map<char, std::int32_t> ids;
  for (const auto& [word, count] : counts)
    for (const char letter : word) ids.emplace(letter, 0);
  for (auto& [letter, id] : ids) {
    id = static_cast<std::int32_t>(out.tokens.size());
    out.tokens.emplace_back(1, letter);
  }
  for (const auto& [word, count] : counts) {
    CountedWord& counted = out.words.emplace_back(CountedWord{{}, count});
    for (const char letter : word) counted.tokens.push_back(ids[letter]);
  }
  out.vocab_size = 1000;
  return out;
}

TEST(MergeTraining, MergesTheMostFrequentPairFirst) {
  // huggingface/tokenizers, models/bpe/trainer.rs, test_train.
  MergeTraining training = training_of({{"roses", 1},
                                        {"are", 2},
                                        {"red", 1},
                                        {"voilets", 1},
                                        {"blue", 1},
                                        {"BERT", 1},
                                        {"is", 2},
                                        {"big", 1},
                                        {"and", 1},
                                        {"so", 1},
                                        {"GPT-2", 1}});
  training.min_frequency = 2;
  const TrainedMerges trained = train_merges(training);
  EXPECT_EQ(trained.merges, (TextPairs{{"r", "e"}, {"a", "re"}, {"i", "s"}}));
  EXPECT_EQ(trained.tokens.back(), "is");
}

/// The same by counting all pairs again for each merge.
TextPairs naive_merges(MergeTraining training, std::size_t max) {
  TextPairs out;
  std::vector<std::string>& tokens = training.tokens;
  while (out.size() < max) {
    std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> counts;
    for (const CountedWord& word : training.words)
      for (std::size_t i = 1; i < word.tokens.size(); ++i)
        counts[{word.tokens[i - 1], word.tokens[i]}] += word.count;
    if (counts.empty()) break;
    // Of equal counts the first in the order of pairs.
    const auto best = std::ranges::max_element(
        counts, [](const auto& a, const auto& b) { return a.second < b.second; });
    const auto [left, right] = best->first;
    const std::string text =
        tokens[static_cast<std::size_t>(left)] + tokens[static_cast<std::size_t>(right)];
    out.emplace_back(tokens[static_cast<std::size_t>(left)],
                     tokens[static_cast<std::size_t>(right)]);
    const auto known = std::ranges::find(tokens, text);
    const auto merged = static_cast<std::int32_t>(known - tokens.begin());
    if (known == tokens.end()) tokens.push_back(text);
    for (CountedWord& word : training.words)
      for (std::size_t i = 0; i + 1 < word.tokens.size(); ++i)
        if (word.tokens[i] == left && word.tokens[i + 1] == right) {
          word.tokens[i] = merged;
          word.tokens.erase(word.tokens.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
  }
  return out;
}

RC_GTEST_PROP(MergeTraining, IsCountingAgainEachTime, ()) {
  const auto letters = rc::gen::container<std::string>(rc::gen::elementOf(std::string("aabc")));
  const auto counts = *rc::gen::resize(12, rc::gen::container<std::map<std::string, std::int64_t>>(
                                               letters, rc::gen::inRange<std::int64_t>(1, 9)));
  const MergeTraining training = training_of(counts);
  const TextPairs merges = train_merges(training).merges;
  RC_ASSERT(merges == naive_merges(training, merges.size() + 1));
}

TokenizerPtr trained(const TrainingOptions& options, std::string_view text) {
  TokenizerTrainer trainer(options);
  trainer.add("a.txt", text);
  return trainer.train();
}

TEST(TokenizerTraining, Bpe) {
  const auto tokenizer = trained({.vocab_size = 259}, "low low low lower\n");
  EXPECT_EQ(tokenizer->vocab_size(), 259);
  EXPECT_EQ(tokenizer->end_of_text(), 0);
  EXPECT_EQ(tokenizer->token(257), "lo");
  EXPECT_EQ(tokenizer->token(258), "low");
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("a low\xff")), "a low\xff");
}

TEST(TokenizerTraining, WordPiece) {
  const auto tokenizer = trained({.kind = TrainedKind::kWordPiece, .vocab_size = 100},
                                 "L\u00F6w, low lower lowest newest newest widest.");
  EXPECT_EQ(tokenizer->special().mask, 4);
  std::vector<std::string> tokens;
  for (const std::int32_t id : tokenizer->encode("Low newest, x"))
    tokens.push_back(tokenizer->token(id));
  EXPECT_EQ(tokens, (std::vector<std::string>{"low", "newest", ",", "[UNK]"}));
  EXPECT_EQ(tokenizer->id_of("##,"), std::nullopt) << "it is within no word";
  const auto cased =
      trained({.kind = TrainedKind::kWordPiece, .vocab_size = 100, .lowercase = false}, "Low Low");
  EXPECT_TRUE(cased->id_of("Low").has_value());
}

TEST(TokenizerTraining, TheOrderOfTextsDoesNotMatter) {
  TokenizerTrainer there({.kind = TrainedKind::kWordPiece, .vocab_size = 40});
  TokenizerTrainer back({.kind = TrainedKind::kWordPiece, .vocab_size = 40});
  const std::vector<std::string> texts = {"some words", "other words\n", "more of the same words"};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    there.add("t", texts[i]);
    back.add("t", texts[texts.size() - 1 - i]);
  }
  EXPECT_EQ(there.train()->serialize(), back.train()->serialize());
}

TEST(TokenizerTraining, RareCharactersAreUnknown) {
  std::string text;
  for (int i = 0; i < 1001; ++i) {
    const std::string letter = {static_cast<char>(0xE4 + i / 4096),
                                static_cast<char>(0x80 + i / 64 % 64),
                                static_cast<char>(0x80 + i % 64)};
    text += i == 7 ? letter + " " : letter + " " + letter + " ";
  }
  const auto tokenizer =
      trained({.kind = TrainedKind::kWordPiece, .vocab_size = 3000, .lowercase = false}, text);
  EXPECT_EQ(tokenizer->encode("\xE4\x80\x87"), (std::vector<std::int32_t>{1}));
  EXPECT_EQ(tokenizer->vocab_size(), 1005);
}

TEST(TokenizerTraining, RefusesWhatCannotBe) {
  try {
    trained({.vocab_size = 100}, "abc");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "a vocabulary of 100 is too small: special tokens and characters alone are 257");
  }
  EXPECT_EQ(
      data_error([] { trained({.kind = TrainedKind::kWordPiece, .vocab_size = 100}, "ab\xff"); }),
      "a.txt: byte 0xFF at offset 2 is not UTF-8; WordPiece needs UTF-8");
}

}  // namespace
}  // namespace lockstep
