#include "data/tokens/masking.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/eval_loader.h"
#include "data/loader.h"
#include "data/tokens/chunk_dataset.h"
#include "data/tokens/document_dataset.h"
#include "data/tokens/packed_dataset.h"
#include "tests/data/tokens/marking_tokenizer.h"
#include "tests/data/tokens/token_fields.h"
#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

using Ids = std::vector<std::int32_t>;

constexpr std::int32_t kMask = 7;

/// Samples of 20 tokens: [CLS], words of a letter, "c", with up to two "d" and "e" that go on with
/// it, and [SEP].
DatasetPtr word_samples(std::int64_t samples) {
  Ids text;
  for (std::int64_t i = 0; std::ssize(text) < 18 * samples; ++i) {
    text.push_back(static_cast<std::int32_t>(i % 3));
    for (std::int64_t more = 0; more < i * i % 3; ++more) text.push_back(more == 0 ? 3 : 4);
  }
  return std::make_shared<ChunkDataset>(std::make_shared<MemoryTokens>("words.txt", text, 9),
                                        std::make_shared<MarkingTokenizer>(), 20);
}

MaskedDataset masked(const DatasetPtr& whole, const Masking& masking = {}) {
  return {whole, MaskVocabulary::of(MarkingTokenizer()), masking};
}

/// `count` of `draws` that each count with `probability`: farther from their mean than 5 standard
/// deviations of the binomial distribution are fewer than 1 in 10^6 fair draws.
void expect_share(double count, double draws, double probability, const char* what) {
  const double deviation = std::sqrt(draws * probability * (1 - probability));
  EXPECT_NEAR(count, draws * probability, 5 * deviation) << what;
}

struct Counts {
  double tokens = 0, chosen = 0, masked = 0, stayed = 0, special = 0, special_touched = 0;
  std::vector<double> became = std::vector<double>(9);  ///< of chosen ones that are not [MASK]
};

Counts count(const MaskedDataset& dataset, const Dataset& whole, std::int64_t epochs) {
  Counts out;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch)
    for (std::int64_t i = 0; i < dataset.size(); ++i) {
      const Ids original = field(whole.get(i), "tokens");
      const Sample sample = dataset.draw(i, {.seed = 3, .epoch = epoch});
      const Ids tokens = field(sample, "tokens"), targets = field(sample, "targets");
      for (std::size_t k = 0; k < tokens.size(); ++k) {
        const bool special = original[k] >= 5, chosen = targets[k] != kNoTarget;
        ++(special ? out.special : out.tokens);
        if (special) out.special_touched += chosen || tokens[k] != original[k];
        if (!chosen) {
          EXPECT_EQ(tokens[k], original[k]);
          continue;
        }
        EXPECT_EQ(targets[k], original[k]);
        ++out.chosen;
        out.masked += tokens[k] == kMask;
        out.stayed += tokens[k] == original[k];
        ++out.became[static_cast<std::size_t>(tokens[k])];
      }
    }
  return out;
}

TEST(Masking, SharesAreThoseOfBert) {
  const DatasetPtr whole = word_samples(500);
  const Counts counts = count(masked(whole), *whole, 40);
  ASSERT_GT(counts.tokens, 300'000);
  expect_share(counts.chosen, counts.tokens, 0.15, "chosen");
  // A random token of 9 is the mask, or what was there, once in 9 times.
  expect_share(counts.masked, counts.chosen, 0.8 + 0.1 / 9, "masked");
  expect_share(counts.stayed, counts.chosen, 0.1 + 0.1 / 9, "stayed");
  for (const std::size_t special : {5U, 6U, 8U})
    expect_share(counts.became[special], counts.chosen, 0.1 / 9, "a random special token");
  EXPECT_GT(counts.special, 30'000);
  EXPECT_EQ(counts.special_touched, 0);
}

TEST(Masking, TheProbabilityIsAskedFor) {
  const DatasetPtr whole = word_samples(200);
  const Counts half = count(masked(whole, {.probability = 0.5}), *whole, 10);
  expect_share(half.chosen, half.tokens, 0.5, "chosen");
  const Counts all = count(masked(whole, {.probability = 1}), *whole, 1);
  EXPECT_EQ(all.chosen, all.tokens);
  for (const double wrong : {0.0, 1.5})
    EXPECT_EQ(
        usage_error([&] { masked(whole, {.probability = wrong}); }),
        fmt::format("the probability of masking must be above 0 and at most 1, not {}", wrong));
}

TEST(Masking, WholeWordsAreChosenOrNot) {
  const DatasetPtr whole = word_samples(500);
  const MaskedDataset dataset = masked(whole, {.whole_words = true});
  double words = 0, chosen_words = 0, pieces = 0;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const Ids original = field(whole->get(i), "tokens");
    const Ids targets = field(dataset.draw(i, {.seed = 1, .epoch = 0}), "targets");
    for (std::size_t k = 1; k + 1 < original.size(); ++k) {
      const bool chosen = targets[k] != kNoTarget;
      const bool goes_on = k > 1 && (original[k] == 3 || original[k] == 4);
      if (goes_on) {
        ++pieces;
        EXPECT_EQ(chosen, targets[k - 1] != kNoTarget) << "sample " << i << ", token " << k;
      } else {
        ++words;
        chosen_words += chosen;
      }
    }
  }
  EXPECT_GT(pieces, 1000);
  expect_share(chosen_words, words, 0.15, "words");
}

TEST(Masking, TokensOfAWordAreChosenApartOtherwise) {
  const DatasetPtr whole = word_samples(200);
  const MaskedDataset dataset = masked(whole);
  bool apart = false;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const Ids original = field(whole->get(i), "tokens"), targets = field(dataset.get(i), "targets");
    for (std::size_t k = 2; k + 1 < original.size(); ++k)
      apart =
          apart || (original[k] == 3 && (targets[k] == kNoTarget) != (targets[k - 1] == kNoTarget));
  }
  EXPECT_TRUE(apart);
}

TEST(Masking, EpochsSeedsAndSamplesDifferAndEvaluationsDoNot) {
  const DatasetPtr whole = word_samples(20);
  const MaskedDataset dataset = masked(whole);
  const auto targets = [&](std::uint64_t seed, std::optional<std::int64_t> epoch) {
    Ids out;
    for (std::int64_t i = 0; i < 20; ++i) {
      const Ids one = field(dataset.draw(i, {.seed = seed, .epoch = epoch}), "targets");
      out.insert(out.end(), one.begin(), one.end());
    }
    return out;
  };
  EXPECT_EQ(targets(1, 4), targets(1, 4));
  EXPECT_NE(targets(1, 4), targets(1, 5));
  EXPECT_NE(targets(1, 4), targets(2, 4));
  EXPECT_EQ(targets(1, {}), targets(1, {}));
  EXPECT_NE(targets(1, {}), targets(1, 0));
  EXPECT_NE(targets(1, {}), targets(2, {}));
  // Two samples of the same text.
  const auto twice = std::make_shared<ChunkDataset>(
      std::make_shared<MemoryTokens>("x", Ids(36, 1), 9), std::make_shared<MarkingTokenizer>(), 20);
  const MaskedDataset same = masked(twice, {.probability = 0.5});
  EXPECT_NE(field(same.get(0), "targets"), field(same.get(1), "targets"));
}

/// Tokens and targets of steps [first, 30), whose epochs have 6.
std::vector<std::vector<double>> masked_batches(int workers, std::int64_t first) {
  const auto dataset = std::make_shared<MaskedDataset>(masked(word_samples(48)));
  Loader loader(dataset, StepSampler(9, dataset->size(), 8, true),
                {.first_step = first,
                 .end_step = 30,
                 .micro_batches = 4,
                 .micro_batch_size = 2,
                 .workers = workers,
                 .prefetch = 3});
  std::vector<std::vector<double>> out;
  while (loader.has_next())
    for (const HostBatch& micro_batch : loader.next().micro_batches) {
      out.push_back(to_doubles(micro_batch.at("tokens")));
      out.push_back(to_doubles(micro_batch.at("targets")));
    }
  return out;
}

TEST(Masking, DependsOnNeitherWorkersNorWhereARunBegan) {
  const auto expected = masked_batches(0, 0);
  EXPECT_EQ(masked_batches(3, 0), expected);
  EXPECT_EQ(masked_batches(2, 17), std::vector(expected.begin() + 17 * 8, expected.end()));
}

TEST(Masking, EvaluationsAreTheSameOnAnyNumberOfRanks) {
  const auto dataset = std::make_shared<MaskedDataset>(masked(word_samples(20)));
  std::vector<std::vector<double>> alone(5), divided(5);
  for (const std::int64_t ranks : {1, 3})
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      EvalLoader loader(dataset, {.batch_size = 4, .rank = rank, .ranks = ranks, .seed = 2});
      while (loader.has_next()) {
        const EvalBatch batch = loader.next();
        (ranks == 1 ? alone : divided)[static_cast<std::size_t>(batch.index)] =
            to_doubles(batch.batch.at("targets"));
      }
    }
  EXPECT_EQ(alone, divided);
}

TEST(Masking, FieldsAreThoseOfWhatIsMaskedAndTargetsArePaddedWithNone) {
  Documents documents{.files = {"x"}, .all = {{{5, 0, 6}, {0, 1}}, {{5, 1, 2, 3, 6}, {0, 2}}}};
  const MaskedDataset lines =
      masked(std::make_shared<DocumentDataset>(documents, DocumentFields::kTokens, 8));
  const auto fields = lines.fields();
  ASSERT_EQ(fields.size(), 2U);
  EXPECT_EQ(fields[0].pad_value, 8);
  EXPECT_EQ(fields[1].name, "targets");
  EXPECT_EQ(fields[1].pad_value, kNoTarget);
  EXPECT_TRUE(fields[1].variable_length);
  EXPECT_EQ(lines.lengths(0), (std::map<std::string, std::int64_t>{{"tokens", 3}, {"targets", 3}}));
  EXPECT_EQ(lines.describe(), "x: 2 documents of at most 5 tokens, 15 % of tokens masked");

  const auto packed = std::make_shared<PackedDataset>(documents, 8);
  const Sample sample = masked(packed, {.probability = 1}).get(0);
  EXPECT_EQ(field(sample, "segments"), (Ids{1, 1, 1, 2, 2, 2, 2, 2}));
  EXPECT_EQ(field(sample, "targets"), (Ids{-100, 0, -100, -100, 1, 2, 3, -100}))
      << "instead of next tokens";
}

TEST(ChunkDataset, CutsAStreamAndAddsSpecialTokens) {
  const auto stream = std::make_shared<MemoryTokens>("x.txt", Ids{0, 1, 2, 3, 4, 0, 1}, 9);
  const auto tokenizer = std::make_shared<MarkingTokenizer>();
  const ChunkDataset dataset(stream, tokenizer, 5);
  ASSERT_EQ(dataset.size(), 2) << "what does not fill a sample is left out";
  EXPECT_EQ(field(dataset.get(0), "tokens"), (Ids{5, 0, 1, 2, 6}));
  EXPECT_EQ(field(dataset.get(1), "tokens"), (Ids{5, 3, 4, 0, 6}));
  const ChunkDataset every(stream, tokenizer, 5, 1);
  ASSERT_EQ(every.size(), 5);
  EXPECT_EQ(field(every.get(4), "tokens"), (Ids{5, 4, 0, 1, 6}));
  EXPECT_EQ(
      data_error([&] { ChunkDataset(stream, tokenizer, 10); }),
      "x.txt: too short: it has 7 tokens, but a sample of 10 needs 8 beside its special ones");
  EXPECT_EQ(usage_error([&] { ChunkDataset(stream, tokenizer, 2); }),
            "samples of 2 tokens have no room between 2 special ones");
}

}  // namespace
}  // namespace lockstep
