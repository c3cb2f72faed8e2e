// tests/parity/torch_generate_test.py compares searches by real models with Hugging Face's rules in
// Python.
#include "trainer/generation/beam_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/base/rng.h"

namespace lockstep {
namespace {

using Tokens = std::vector<std::int32_t>;
using Rows = std::vector<std::int32_t>;
constexpr std::int32_t kEnd = 2;
constexpr std::int64_t kChoices = 3;

/// The log-probabilities of what follows some tokens, drawn at random for each beginning.
std::vector<float> following(const Tokens& tokens, std::uint64_t seed) {
  std::uint64_t place = 1;
  for (const std::int32_t token : tokens) place = place * (kChoices + 1) + token + 1;
  const RngKey key{.seed = seed, .stream = rng_stream("following"), .step = place};
  std::vector<float> out(kChoices);
  for (std::uint64_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(random_word(key, i) % 4096) / 1024;
  float total = 0;
  for (const float logit : out) total += std::exp(logit);
  for (float& logit : out) logit -= std::log(total);
  return out;
}

/// What a search finds for samples with these seeds in `length` steps, or until it is done.
std::vector<std::vector<Hypothesis>> search(const std::vector<std::uint64_t>& seeds,
                                            const BeamOptions& options, int length) {
  const auto beams = static_cast<std::size_t>(options.num_beams);
  BeamSearch out(static_cast<std::int64_t>(seeds.size()), options, kEnd);
  std::vector<Tokens> rows(seeds.size() * beams);
  for (int i = 0; i < length && !out.done(); ++i) {
    std::vector<float> log_probs;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::vector<float> next = following(rows[row], seeds[row / beams]);
      log_probs.insert(log_probs.end(), next.begin(), next.end());
    }
    const BeamSearch::Step step = out.advance(log_probs);
    std::vector<Tokens> moved;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      moved.push_back(rows[static_cast<std::size_t>(step.rows[row])]);
      moved.back().push_back(step.tokens[row]);
    }
    rows = std::move(moved);
  }
  return out.finish();
}

/// All texts of at most `length` tokens with their end, and all of `length` tokens without one.
std::vector<Hypothesis> all_texts(std::uint64_t seed, double length_penalty, int length) {
  std::vector<Hypothesis> out;
  const std::function<void(const Tokens&, float)> visit = [&](const Tokens& tokens, float sum) {
    const auto size = static_cast<double>(tokens.size());
    if (size == length) {
      out.push_back({tokens, sum / std::pow(size, length_penalty), false});
      return;
    }
    const std::vector<float> next = following(tokens, seed);
    out.push_back({tokens, (sum + next[kEnd]) / std::pow(size + 1, length_penalty), true});
    for (std::int32_t token = 0; token < kEnd; ++token) {
      Tokens longer = tokens;
      longer.push_back(token);
      visit(longer, sum + next[static_cast<std::size_t>(token)]);
    }
  };
  visit({}, 0);
  std::ranges::stable_sort(out, std::greater(), &Hypothesis::score);
  return out;
}

TEST(BeamSearch, WithEnoughBeamsFindsTheBestOfAllTexts) {
  constexpr int kLength = 4, kBeams = 24;  // 2^3 beginnings of 3 tokens each
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (const double penalty : {0.0, 1.0, 2.0, -1.0, -2.5}) {
      const auto found = search({seed}, {kBeams, penalty, false}, kLength);
      const std::vector<Hypothesis> want = all_texts(seed, penalty, kLength);
      ASSERT_EQ(found[0].size(), kBeams);
      for (std::size_t i = 0; i < kBeams; ++i) {
        ASSERT_DOUBLE_EQ(found[0][i].score, want[i].score) << seed << ", " << penalty << ", " << i;
        ASSERT_EQ(found[0][i].tokens, want[i].tokens);
        ASSERT_EQ(found[0][i].ended, want[i].ended);
      }
    }
  }
}

TEST(BeamSearch, OfSamplesIsWhatItIsOfEachAlone) {
  const std::vector<std::uint64_t> seeds = {1, 2, 3, 4, 5, 6, 7, 8};
  for (const bool early_stopping : {false, true}) {
    const BeamOptions options{3, 1.0, early_stopping};
    const auto together = search(seeds, options, 12);
    for (std::size_t s = 0; s < seeds.size(); ++s) {
      const auto alone = search({seeds[s]}, options, 12);
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(together[s][i].tokens, alone[0][i].tokens);
        EXPECT_EQ(together[s][i].score, alone[0][i].score);
      }
    }
  }
}

/// The same log-probabilities for each of two beams.
BeamSearch::Step advance_both(BeamSearch& search, std::vector<float> log_probs) {
  const std::vector<float> row = log_probs;
  log_probs.insert(log_probs.end(), row.begin(), row.end());
  return search.advance(log_probs);
}

TEST(BeamSearch, TakesTheLowerBeamOfEqualOnesAndThenTheLowerToken) {
  BeamSearch search(1, {.num_beams = 2}, std::nullopt);
  BeamSearch::Step step = advance_both(search, {-2, -1, -1, -1});
  EXPECT_EQ(step.rows, (Rows{0, 0})) << "all beams begin alike";
  EXPECT_EQ(step.tokens, (Tokens{1, 2}));
  step = advance_both(search, {-1, -3, -2, -1});
  EXPECT_EQ(step.rows, (Rows{0, 0}));
  EXPECT_EQ(step.tokens, (Tokens{0, 3}));
  step = advance_both(search, {-3, -1, -2, -3});
  EXPECT_EQ(step.rows, (Rows{0, 1}));
  EXPECT_EQ(step.tokens, (Tokens{1, 1}));
}

TEST(BeamSearch, PutsTheEarlierOfEqualHypothesesFirst) {
  BeamSearch search(1, {.num_beams = 2, .length_penalty = 0}, std::nullopt);
  (void)advance_both(search, {-1, -1, -1});
  const auto found = search.finish();
  EXPECT_EQ(found[0][0].tokens, (Tokens{0}));
  EXPECT_EQ(found[0][1].tokens, (Tokens{1}));
}

TEST(BeamSearch, DropsAnEndBehindTheFirstCandidates) {
  BeamSearch search(1, {.num_beams = 2}, kEnd);
  const BeamSearch::Step step = advance_both(search, {-1, -1.5, -2});
  EXPECT_EQ(step.tokens, (Tokens{0, 1}));
  const std::vector<Hypothesis> found = search.finish()[0];
  for (const Hypothesis& one : found) EXPECT_FALSE(one.ended);
}

TEST(BeamSearch, TakesTheNextCandidateWhereOneHasEnded) {
  BeamSearch search(1, {.num_beams = 2}, kEnd);
  const BeamSearch::Step step = advance_both(search, {-1, -3, -2, -4});
  EXPECT_EQ(step.tokens, (Tokens{0, 1}));
  const std::vector<Hypothesis> found = search.finish()[0];
  EXPECT_EQ(found[0].tokens, (Tokens{0}));
  EXPECT_FALSE(found[0].ended);
  EXPECT_EQ(found[1].tokens, Tokens{});
  EXPECT_TRUE(found[1].ended);
  EXPECT_EQ(found[1].score, -2);
}

TEST(BeamSearch, DividesByTheLengthWithTheEnd) {
  BeamSearch search(1, {.num_beams = 2, .length_penalty = 2, .early_stopping = true}, kEnd);
  (void)advance_both(search, {-0.5F, -1, -9});
  (void)advance_both(search, {-8, -9, -0.5F});
  ASSERT_TRUE(search.done());
  const std::vector<Hypothesis> found = search.finish()[0];
  EXPECT_EQ(found[0].tokens, (Tokens{0}));
  EXPECT_EQ(found[0].score, -1.0 / 4);
  EXPECT_EQ(found[1].score, -1.5 / 4);
}

/// Whether a search is done after a second step in which both of its beams, of -1, may end with -3
/// or go on with -1 + `going_on`.
bool is_done(const BeamOptions& options, float going_on) {
  BeamSearch search(1, options, kEnd);
  (void)advance_both(search, {-1, -1, -9});
  (void)advance_both(search, {going_on, -9, -2});
  return search.done();
}

TEST(BeamSearch, IsDoneWithTheFirstHypothesesIfItStopsEarly) {
  EXPECT_TRUE(is_done({2, 1.0, true}, -3));
  EXPECT_FALSE(is_done({2, 1.0, true}, -1)) << "the ends are behind the first candidates";
}

TEST(BeamSearch, ElseIsDoneWhenNoCandidateIsBetter) {
  EXPECT_TRUE(is_done({2, 1.0, false}, -3));
  for (const bool early_stopping : {false, true}) {
    BeamSearch search(1, {2, 0.0, early_stopping}, kEnd);
    (void)advance_both(search, {-1, -9, -2});  // a hypothesis of -2; beams of -1 and -9
    (void)advance_both(search, {-1, -9, -9});  // the best beam is at -2
    EXPECT_FALSE(search.done());
    (void)advance_both(search, {-0.5F, -9, -1});  // a hypothesis of -3; a beam of -2.5
    EXPECT_EQ(search.done(), early_stopping);
    (void)advance_both(search, {-1, -9, -9});  // the best beam is at -3.5
    EXPECT_TRUE(search.done());
    const std::vector<Hypothesis> found = search.finish()[0];
    EXPECT_EQ(found[0].tokens, Tokens{});
    EXPECT_EQ(found[1].tokens, (Tokens{0, 0}));
  }
}

}  // namespace
}  // namespace lockstep
