// Beam search by a model.
#include "trainer/generation/search_beams.h"

#include <gtest/gtest.h>

#include <cmath>

#include "collectives/single.h"
#include "core/base/error.h"
#include "trainer/apps/from_config.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/models/gpt2/gpt2.h"
#include "trainer/train/training_state.h"

namespace lockstep {
namespace {

constexpr std::int64_t kContext = 24;
constexpr std::int64_t kVocabulary = 20;

struct Searched : testing::Test {
  Searched() { draw_values(model, runtime.engine(), 3); }

  Continuation start(const std::vector<std::vector<std::int32_t>>& prompts, std::int64_t beams) {
    std::vector<std::vector<std::int32_t>> rows;
    for (const auto& prompt : prompts) rows.insert(rows.end(), beams, prompt);
    return {runtime.engine(), model, DType::kF32, kContext, rows};
  }
  std::vector<std::vector<Hypothesis>> find(const std::vector<std::vector<std::int32_t>>& prompts,
                                            const BeamOptions& options, std::int64_t tokens,
                                            std::int64_t vocabulary = kVocabulary) {
    Continuation rows = start(prompts, options.num_beams);
    return search_beams(rows, options, tokens, vocabulary, 0);
  }

  Watch watch;
  RankRuntime runtime{Config{}, Settings{}, make_single_communicator(), watch};
  Gpt2 model{Gpt2Config{.n_layer = 2,
                        .n_head = 2,
                        .n_embd = 32,
                        .n_positions = kContext,
                        .vocab_size = kVocabulary,
                        .initializer_range = 0.3},
             {}};
};

TEST_F(Searched, TextsHaveTheScoresThatTheModelGivesThem) {
  const auto found = find({{1, 2}}, {4, 1.0, false}, 12);
  for (const Hypothesis& one : found[0]) {
    std::vector<std::int32_t> tokens = one.tokens;
    if (one.ended) tokens.push_back(0);
    Continuation again = start({{1, 2}}, 1);
    double sum = 0;
    for (const std::int32_t token : tokens) {
      const std::vector<float> logits = again.next_logits();
      double total = 0;
      for (const float logit : logits) total += std::exp(logit);
      sum += logits[static_cast<std::size_t>(token)] - std::log(total);
      again.append(std::span(&token, 1));
    }
    EXPECT_NEAR(one.score, sum / static_cast<double>(tokens.size()), 1e-5);
  }
}

TEST_F(Searched, SeveralPromptsAreSearchedAsEachIsAlone) {
  const std::vector<std::vector<std::int32_t>> prompts = {{1}, {7}, {12}};
  const BeamOptions options{3, 1.0, true};
  const auto together = find(prompts, options, 20);
  ASSERT_EQ(together.size(), 3);
  for (std::size_t s = 0; s < 3; ++s) {
    const auto alone = find({prompts[s]}, options, 20);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(together[s][i].tokens, alone[0][i].tokens);
      EXPECT_NEAR(together[s][i].score, alone[0][i].score, 1e-5);
    }
  }
}

TEST_F(Searched, TokensOfAPaddedVocabularyAreNone) {
  const auto found = find({{1, 2}}, {4, 0.0, false}, 12, 5);
  for (const Hypothesis& one : found[0])
    for (const std::int32_t token : one.tokens) EXPECT_LT(token, 5);
}

TEST_F(Searched, EndsWhereTheContextIsFull) {
  const auto found = find({{1, 2}}, {2, 2.0, false}, 1000);
  for (const Hypothesis& one : found[0]) {
    EXPECT_LE(one.tokens.size(), kContext - 2);
    EXPECT_TRUE(one.ended || one.tokens.size() == kContext - 2);
  }
  EXPECT_EQ(find({{1, 2}}, {2, 2.0, false}, 0)[0][0].tokens.size(), 0);
}

TEST_F(Searched, TakesACacheOfTheLengthThatItNeeds) {
  EXPECT_EQ(search_length(1024, 10, 200), 256);
  EXPECT_EQ(search_length(1024, 64, 64), 128);
  EXPECT_EQ(search_length(100, 10, 200), 100);
}

TEST_F(Searched, NeedsRoomAndTwoTokens) {
  const std::vector<std::int32_t> full(kContext, 1);
  const auto refusal = [&](const std::vector<std::int32_t>& prompt, std::int64_t vocabulary) {
    try {
      (void)find({prompt}, {2, 1.0, false}, 5, vocabulary);
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(refusal(full, kVocabulary),
            "the prompt has 24 tokens, and the model can see 24: there is no room for beam search; "
            "shorten the prompt, or draw (--num-beams 1), which forgets its beginning");
  EXPECT_EQ(refusal({1}, 1), "beam search needs two tokens to choose from; there is 1");
}

}  // namespace
}  // namespace lockstep
