#include "data/tokens/text_pairs.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

#include "data/tokenizers/tokenizer_files.h"
#include "data/tokens/document_dataset.h"
#include "tests/data/tokens/token_fields.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

using Ids = std::vector<std::int32_t>;

// Of texts of 0, 2, 4 and 8 tokens and a limit of 7, as Hugging Face's own test has them.
TEST(TextPairs, AreCutAsHuggingFaceDoes) {
  constexpr std::size_t kLimit = 7;
  constexpr std::array<std::size_t, 4> kLengths{0, 2, 4, 8};
  const std::array<std::array<PairLengths, 4>, 4> expected{{{{{0, 0}, {0, 2}, {0, 4}, {0, 7}}},
                                                            {{{2, 0}, {2, 2}, {2, 4}, {2, 5}}},
                                                            {{{4, 0}, {4, 2}, {3, 4}, {3, 4}}},
                                                            {{{7, 0}, {5, 2}, {4, 3}, {3, 4}}}}};
  for (std::size_t i = 0; i < kLengths.size(); ++i)
    for (std::size_t j = 0; j < kLengths.size(); ++j)
      EXPECT_EQ(longest_first({kLengths[i], kLengths[j]}, kLimit), expected[i][j])
          << kLengths[i] << " and " << kLengths[j];
  EXPECT_EQ(longest_first({4, 4}, 0), (PairLengths{0, 0}));
}

RC_GTEST_PROP(TextPairs, KeepAsMuchAsThereIsRoomFor, ()) {
  const auto length = rc::gen::inRange<std::size_t>(0, 40);
  const PairLengths given{*length, *length};
  const std::size_t limit = *length;
  const PairLengths kept = longest_first(given, limit);
  RC_ASSERT(kept.first <= given.first && kept.second <= given.second);
  RC_ASSERT(kept.first + kept.second == std::min(limit, given.first + given.second));
  // A text is cut only to what the other one keeps, or one more.
  if (kept.first < given.first) RC_ASSERT(kept.first + 1 >= kept.second);
  if (kept.second < given.second) RC_ASSERT(kept.second + 1 >= kept.first);
}

class PairSamples : public testing::Test {
 protected:
  DocumentDataset dataset(const std::string& first, const std::string& second,
                          const DocumentLimit& limit) {
    TextDocuments texts{.files = {"x.jsonl"}, .all = {}};
    texts.all.push_back({.text = first, .place = {0, 1}, .label = {"yes"}, .second = second});
    texts.all.front().label.number = 1;
    return {tokenize_documents(texts, *tokenizer_, DocumentFrame::kSpecialTokens, limit),
            DocumentFields::kLabel, 0};
  }

  TemporaryFolder folder_;
  // [CLS] 2, [SEP] 3, then a to d, 4 to 7.
  TokenizerPtr tokenizer_ =
      load_tokenizer(folder_.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\nd\n"));
};

TEST_F(PairSamples, HaveTypes) {
  const DocumentDataset samples = dataset("a b", "c", {.tokens = 6});
  const Sample sample = samples.get(0);
  EXPECT_EQ(field(sample, "tokens"), (Ids{2, 4, 5, 3, 6, 3}));
  EXPECT_EQ(field(sample, "token_types"), (Ids{0, 0, 0, 0, 1, 1}))
      << "the [SEP] of each is its own";
  EXPECT_EQ(field(sample, "label"), (Ids{1}));
  EXPECT_EQ(samples.lengths(0).at("token_types"), 6);
  ASSERT_EQ(samples.fields().size(), 3U);
  EXPECT_TRUE(samples.fields()[2].variable_length);
  EXPECT_EQ(samples.fields()[2].pad_value, 0);
}

TEST_F(PairSamples, AreCutOrRefused) {
  const DocumentLimit cut{.tokens = 7, .on_too_long = OnTooLong::kTruncate};
  const Sample sample = dataset("a b c d", "d c", cut).get(0);
  EXPECT_EQ(field(sample, "tokens"), (Ids{2, 4, 5, 3, 7, 6, 3})) << "the longer one first";
  EXPECT_EQ(field(sample, "token_types"), (Ids{0, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(data_error([&] { dataset("a b c d", "d c", {.tokens = 7}); }),
            "x.jsonl:1: a document of 9 tokens, 3 of them special, but a sample takes at most 7: "
            "give a longer data.sequence_length, or data.on_too_long: truncate, which cuts off the "
            "end");
}

}  // namespace
}  // namespace lockstep
