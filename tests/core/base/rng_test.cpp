#include "core/base/rng.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "core/base/hash.h"

namespace lockstep {
namespace {

using FourWords = std::array<std::uint32_t, 4>;

/// Philox4x32-10, written from section 3.3 of Salmon et al., SC 2011.
FourWords philox(FourWords c, std::array<std::uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(p0)};
    k[0] += 0x9E3779B9;
    k[1] += 0xBB67AE85;
  }
  return c;
}

TEST(Philox, MatchesThePublishedVectors) {  // Random123, tests/kat_vectors
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (FourWords{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (FourWords{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (FourWords{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

RC_GTEST_PROP(Rng, WordsAreBlocksOfPhilox,
              (std::uint64_t seed, std::uint64_t stream, std::uint32_t step,
               std::uint32_t micro_batch, std::uint32_t position)) {
  const std::uint64_t key = hash64({seed, stream});
  const FourWords block =
      philox({position / 4, micro_batch, step, 0},
             {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
  RC_ASSERT(random_word({seed, stream, step, micro_batch}, position) == block[position % 4]);
}

RC_GTEST_PROP(Rng, BitsDoNotDependOnHowTheyAreCutIntoCalls,
              (std::uint64_t seed, std::uint16_t first, std::uint8_t size, std::uint8_t cut)) {
  const RngKey key{.seed = seed, .stream = 7, .step = 3, .micro_batch = 1};
  std::vector<std::uint32_t> whole(size);
  random_bits(key, first, whole);
  const std::size_t middle = std::min<std::size_t>(cut, size);
  std::vector<std::uint32_t> parts(size);
  random_bits(key, first, std::span(parts).first(middle));
  random_bits(key, first + middle, std::span(parts).subspan(middle));
  RC_ASSERT(parts == whole);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    RC_ASSERT(random_word(key, first + i) == whole[i]);
  }
}

RC_GTEST_PROP(Rng, NormalsDoNotDependOnHowTheyAreCutIntoCalls,
              (std::uint64_t seed, std::uint16_t first, std::uint8_t size, std::uint8_t cut)) {
  const RngKey key{.seed = seed, .stream = 7, .step = 3, .micro_batch = 1};
  std::vector<float> whole(size);
  random_normal(key, first, whole);
  const std::size_t middle = std::min<std::size_t>(cut, size);
  std::vector<float> parts(size);
  random_normal(key, first, std::span(parts).first(middle));
  random_normal(key, first + middle, std::span(parts).subspan(middle));
  RC_ASSERT(parts == whole);
}

TEST(Rng, EveryPartOfTheKeyCounts) {
  const RngKey base{.seed = 1, .stream = 2, .step = 3, .micro_batch = 4};
  std::vector<RngKey> keys = {base};
  const auto with = [&](auto&& change) {
    keys.push_back(base);
    change(keys.back());
  };
  for (const int bit : {0, 1, 31, 32, 63}) {
    with([&](RngKey& key) { key.seed ^= std::uint64_t{1} << bit; });
    with([&](RngKey& key) { key.stream ^= std::uint64_t{1} << bit; });
  }
  for (const int bit : {0, 1, 31, 32, 47}) {
    with([&](RngKey& key) { key.step ^= std::uint64_t{1} << bit; });
  }
  for (const int bit : {0, 1, 31}) {
    with([&](RngKey& key) { key.micro_batch ^= std::uint32_t{1} << bit; });
  }
  with([](RngKey& key) { std::swap(key.seed, key.stream); });
  with([](RngKey& key) { std::swap(key.step, key.stream); });
  std::set<FourWords> blocks;
  for (const RngKey& key : keys) {
    FourWords words{};
    random_bits(key, 0, words);
    blocks.insert(words);
  }
  EXPECT_EQ(blocks.size(), keys.size());
}

TEST(Rng, PositionsBeyond32BitsAreNew) {
  const RngKey key{.seed = 1, .stream = 2, .step = 3, .micro_batch = 4};
  std::set<FourWords> blocks;
  for (const int bit : {0, 33, 34, 35, 49}) {
    FourWords words{};
    random_bits(key, (std::uint64_t{1} << bit) & ~std::uint64_t{3}, words);
    blocks.insert(words);
  }
  EXPECT_EQ(blocks.size(), 5U);
}

TEST(Rng, StreamsDependOnNameAndOrdinal) {
  std::set<std::uint64_t> streams;
  for (const char* name : {"", "h.0.attn", "h.1.attn", "h.10.attn"}) {
    for (std::uint64_t ordinal = 0; ordinal < 100; ++ordinal) {
      streams.insert(rng_stream(name, ordinal));
    }
  }
  EXPECT_EQ(streams.size(), 400U);
  EXPECT_EQ(rng_stream("h.0.attn"), rng_stream("h.0.attn", 0));
}

constexpr std::size_t kDraws = 1 << 20;

std::vector<double> uniforms(const RngKey& key) {
  std::vector<std::uint32_t> words(kDraws);
  random_bits(key, 0, words);
  std::vector<double> out;
  for (const std::uint32_t word : words) out.push_back(uniform_from_bits(word));
  return out;
}

std::vector<double> normals(const RngKey& key) {
  std::vector<float> draws(kDraws);
  random_normal(key, 0, draws);
  return {draws.begin(), draws.end()};
}

/// The mean of (x - center)^power.
double moment(const std::vector<double>& values, double center, int power) {
  double sum = 0;
  for (const double x : values) sum += std::pow(x - center, power);
  return sum / static_cast<double>(values.size());
}

/// Five standard errors of a mean of kDraws values with the given variance.
double five_sigma(double variance) {
  return 5 * std::sqrt(variance / static_cast<double>(kDraws));
}

const RngKey kKey{.seed = 42, .stream = rng_stream("test"), .step = 1, .micro_batch = 0};

TEST(Uniform, LiesInTheHalfOpenUnitInterval) {
  EXPECT_EQ(uniform_from_bits(0), 0.0F);
  EXPECT_EQ(uniform_from_bits(0xffffffff), 1.0F - 0x1.0p-24F);
}

TEST(Uniform, HasTheMomentsOfTheUniformDistribution) {
  const auto x = uniforms(kKey);
  // Central moments: 1/12, 0, 1/80; the variance of (x-1/2)^p is m(2p) - m(p)^2.
  EXPECT_NEAR(moment(x, 0.0, 1), 0.5, five_sigma(1.0 / 12));
  EXPECT_NEAR(moment(x, 0.5, 2), 1.0 / 12, five_sigma(1.0 / 80 - 1.0 / 144));
  EXPECT_NEAR(moment(x, 0.5, 3), 0, five_sigma(1.0 / 448));
  EXPECT_NEAR(moment(x, 0.5, 4), 1.0 / 80, five_sigma(1.0 / 2304 - 1.0 / 6400));
}

TEST(Uniform, FillsItsBinsEvenly) {
  constexpr int kBins = 256;
  std::vector<double> counts(kBins, 0);
  for (const double x : uniforms(kKey)) counts[static_cast<std::size_t>(x * kBins)] += 1;
  double chi_square = 0;
  const double expected = static_cast<double>(kDraws) / kBins;
  for (const double count : counts)
    chi_square += (count - expected) * (count - expected) / expected;
  // Chi-square with d degrees of freedom has mean d and variance 2d.
  EXPECT_NEAR(chi_square, kBins - 1, 5 * std::sqrt(2.0 * (kBins - 1)));
}

TEST(Normal, HasTheMomentsOfTheNormalDistribution) {
  const auto x = normals(kKey);
  // E x^2, x^4, x^6, x^8 = 1, 3, 15, 105.
  EXPECT_NEAR(moment(x, 0, 1), 0, five_sigma(1));
  EXPECT_NEAR(moment(x, 0, 2), 1, five_sigma(3 - 1));
  EXPECT_NEAR(moment(x, 0, 3), 0, five_sigma(15));
  EXPECT_NEAR(moment(x, 0, 4), 3, five_sigma(105 - 9));
}

TEST(Normal, HasTheNormalDistributionFunction) {
  auto x = normals(kKey);
  std::ranges::sort(x);
  double distance = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = 0.5 * std::erfc(-x[i] / std::sqrt(2.0));
    distance = std::max(distance, std::abs(expected - static_cast<double>(i) / kDraws));
  }
  // Kolmogorov: P(sqrt(n) D > 2.5) = 7e-6.
  EXPECT_LT(distance * std::sqrt(static_cast<double>(kDraws)), 2.5);
}

TEST(Streams, AreNotCorrelated) {
  const auto x = uniforms(kKey);
  const auto correlation_with = [&](const std::vector<double>& y, std::size_t lag) {
    double sum = 0;
    for (std::size_t i = 0; i + lag < x.size(); ++i) sum += (x[i] - 0.5) * (y[i + lag] - 0.5) * 12;
    return sum / static_cast<double>(kDraws);
  };
  auto next = kKey;
  next.step += 1;
  EXPECT_NEAR(correlation_with(uniforms(next), 0), 0, five_sigma(1));
  next = kKey;
  next.micro_batch += 1;
  EXPECT_NEAR(correlation_with(uniforms(next), 0), 0, five_sigma(1));
  next = kKey;
  next.stream = rng_stream("test", 1);
  EXPECT_NEAR(correlation_with(uniforms(next), 0), 0, five_sigma(1));
  for (const std::size_t lag : {1, 2, 3, 4}) {
    EXPECT_NEAR(correlation_with(x, lag), 0, five_sigma(1)) << "lag " << lag;
  }
}

}  // namespace
}  // namespace lockstep
