#include "data/captions/synthetic_captions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

const std::vector<LengthShare> kLengths = {{2, 4, 0.75}, {10, 12, 0.25}};

SyntheticCaptions random_captions(std::uint64_t seed = 1, std::int64_t max_length = 0) {
  return {{.samples = 400,
           .image = {1, 2, 3},
           .vocab_size = 8,
           .lengths = kLengths,
           .max_length = max_length},
          {.start = 3, .end = 7, .pad = 0},
          seed};
}

TEST(SyntheticCaptionsTest, HasTheLengthsThatAreAskedFor) {
  const SyntheticCaptions dataset = random_captions();
  int longer = 0;
  std::set<std::int64_t> lengths;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const std::int64_t length = dataset.lengths(i).at("tokens");
    EXPECT_EQ(dataset.get(i).at("targets").shape()[0], length);
    longer += length >= 10 ? 1 : 0;
    lengths.insert(length);
  }
  EXPECT_THAT(lengths, testing::ElementsAre(2, 3, 4, 10, 11, 12));
  EXPECT_NEAR(longer, 100, 30);
  EXPECT_EQ(dataset.fields()[0].shape[0], 12);
  EXPECT_EQ(random_captions(1, 3).fields()[0].shape[0], 3) << "cut";
  EXPECT_EQ(random_captions(1, 3).get(0).at("tokens").shape()[0],
            std::min<std::int64_t>(3, dataset.lengths(0).at("tokens")));
}

TEST(SyntheticCaptionsTest, SaysOtherTokensThanThoseAround) {
  const SyntheticCaptions dataset = random_captions();
  std::set<std::int32_t> said;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const Sample sample = dataset.get(i);
    const auto tokens = sample.at("tokens").as<const std::int32_t>();
    const auto targets = sample.at("targets").as<const std::int32_t>();
    EXPECT_EQ(tokens[0], 3);
    EXPECT_EQ(targets.back(), 7);
    EXPECT_TRUE(std::ranges::equal(tokens.subspan(1), targets.first(targets.size() - 1)));
    said.insert(tokens.begin() + 1, tokens.end());
  }
  EXPECT_THAT(said, testing::ElementsAre(1, 2, 4, 5, 6));
}

TEST(SyntheticCaptionsTest, IsAFunctionOfSeedAndIndex) {
  const auto bytes = [](const SyntheticCaptions& dataset, std::int64_t index) {
    const Sample sample = dataset.get(index);
    const auto image = sample.at("image").as<const float>();
    std::vector<double> out(image.begin(), image.end());
    for (const std::int32_t token : sample.at("tokens").as<const std::int32_t>())
      out.push_back(token);
    return out;
  };
  EXPECT_EQ(bytes(random_captions(), 7), bytes(random_captions(), 7));
  EXPECT_NE(bytes(random_captions(), 7), bytes(random_captions(2), 7));
  EXPECT_NE(random_captions().digest(), random_captions(2).digest());
}

TEST(SyntheticCaptionsTest, RefusesWhatItCannotDraw) {
  const auto made = [](std::vector<LengthShare> lengths, std::int64_t vocab_size = 8) {
    return usage_error([&] {
      SyntheticCaptions({.samples = 1,
                         .image = {1, 1, 1},
                         .vocab_size = vocab_size,
                         .lengths = std::move(lengths),
                         .max_length = 0},
                        {.start = 1, .end = 2, .pad = 2}, 0);
    });
  };
  const std::string lengths = "synthetic captions: the lengths must ";
  EXPECT_EQ(made({{0, 2, 1}}), lengths + "be at least 1, not 0");
  EXPECT_EQ(made({{3, 2, 1}}), lengths + "have a minimum before a maximum, not [3, 2]");
  EXPECT_EQ(made({{1, 2, 0}}), lengths + "have probabilities > 0 and <= 1, not 0");
  EXPECT_EQ(made({{1, 2, 0.5}, {3, 4, 0.25}}),
            lengths + "have probabilities with a sum of 1, not 0.75");
  EXPECT_EQ(made({}), lengths + "have probabilities with a sum of 1, not 0");
  const std::string vocabulary =
      "synthetic captions: the tokens 1, 2 and 2 around captions must be below the size of the "
      "vocabulary, ";
  EXPECT_EQ(made({{1, 2, 1}}, 2), vocabulary + "2");
  EXPECT_EQ(usage_error([] {
              SyntheticCaptions({.samples = 1,
                                 .image = {1, 1, 1},
                                 .vocab_size = 2,
                                 .lengths = {{1, 1, 1}},
                                 .max_length = 0},
                                {.start = 0, .end = 1, .pad = 1}, 0);
            }),
            "synthetic captions: a vocabulary of 2 has no tokens but those around captions");
}

}  // namespace
}  // namespace lockstep
