#include "trainer/generation/draw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

namespace lockstep {
namespace {

const std::vector<float> kLogits = {std::log(0.1F), std::log(0.4F), std::log(0.2F), std::log(0.3F)};

/// How often each token is drawn, of 20,000.
std::map<std::int32_t, double> shares(const DrawOptions& options) {
  constexpr int kDraws = 20'000;
  std::map<std::int32_t, double> out;
  for (int i = 0; i < kDraws; ++i)
    out[draw_token(kLogits, options, 0, static_cast<std::uint64_t>(i))] += 1.0 / kDraws;
  return out;
}

void expect_shares(const DrawOptions& options, const std::map<std::int32_t, double>& want) {
  const auto got = shares(options);
  EXPECT_EQ(got.size(), want.size());
  for (const auto& [token, share] : want) EXPECT_NEAR(got.at(token), share, 0.012) << token;
}

TEST(DrawToken, FollowsTheProbabilities) {
  expect_shares({}, {{0, 0.1}, {1, 0.4}, {2, 0.2}, {3, 0.3}});
}

TEST(DrawToken, OfLowTemperatureLikesTheLikelyMore) {
  const double sum = 0.01 + 0.16 + 0.04 + 0.09;
  expect_shares({.temperature = 0.5},
                {{0, 0.01 / sum}, {1, 0.16 / sum}, {2, 0.04 / sum}, {3, 0.09 / sum}});
}

TEST(DrawToken, AmongTheLikeliestOnly) {
  expect_shares({.top_k = 2}, {{1, 4.0 / 7}, {3, 3.0 / 7}});
  expect_shares({.top_k = 100}, {{0, 0.1}, {1, 0.4}, {2, 0.2}, {3, 0.3}});
}

TEST(DrawToken, AmongTheFewestThatHaveAProbability) {
  expect_shares({.top_p = 0.65}, {{1, 4.0 / 7}, {3, 3.0 / 7}});
  expect_shares({.top_p = 0.75}, {{1, 4.0 / 9}, {3, 3.0 / 9}, {2, 2.0 / 9}});
  expect_shares({.top_p = 0.01}, {{1, 1.0}});
  // After top_k: the probability is that of what is left.
  expect_shares({.top_k = 3, .top_p = 0.4}, {{1, 1.0}});
}

TEST(DrawToken, OfTemperatureZeroIsTheLikeliest) {
  expect_shares({.temperature = 0}, {{1, 1.0}});
  const std::vector<float> equal(5, 1.0F);
  EXPECT_EQ(draw_token(equal, {.temperature = 0}, 0, 0), 0);
}

TEST(DrawToken, IsAFunctionOfSeedSampleAndPosition) {
  const std::vector<float> flat(1000, 0.0F);
  const std::int32_t token = draw_token(flat, {.seed = 7}, 2, 30);
  EXPECT_EQ(draw_token(flat, {.seed = 7}, 2, 30), token);
  EXPECT_NE(draw_token(flat, {.seed = 8}, 2, 30), token);
  EXPECT_NE(draw_token(flat, {.seed = 7}, 3, 30), token);
  EXPECT_NE(draw_token(flat, {.seed = 7}, 2, 31), token);
}

}  // namespace
}  // namespace lockstep
