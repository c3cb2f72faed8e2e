#include "data/captions/caption_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "data/samples/collate.h"
#include "data/samples/fetch.h"
#include "data/tokens/document_dataset.h"
#include "tests/data/captions/caption_words.h"
#include "tests/data/images/image_files.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using Ids = std::vector<std::int32_t>;

Ids ids_of(const Sample& sample, const std::string& field) {
  const auto values = sample.at(field).as<const std::int32_t>();
  return {values.begin(), values.end()};
}

class CaptionDatasetTest : public testing::Test {
 protected:
  CaptionDatasetTest() {
    add_image("1.png", 51);
    add_image("2.png", 102);
    add_image("3.png", 153);
    write(
        R"({"image": "1.png", "captions": ["a", "b c", "d e a"]}
{"image": "2.png", "caption": "e"}
{"image": "3.png", "captions": ["c c c c", "d"]})");
  }
  void add_image(const std::string& name, std::uint8_t pixel) const {
    folder_.write(name, encode_png({.kind = PngKind::kGrey, .samples = {pixel}}));
  }
  void write(const std::string& text) { path_ = folder_.write("c.jsonl", text); }
  std::shared_ptr<CaptionDataset> open(CaptionUnit unit = CaptionUnit::kImage,
                                       OnBadSample on_bad = OnBadSample::kError,
                                       DocumentLimit limit = {}) const {
    return std::make_shared<CaptionDataset>(
        read_captions(path_), *words_a_to_e(),
        CaptionOptions{.images = {.shape = {1, 1, 1}, .on_bad_sample = on_bad},
                       .frame = kWordFrame,
                       .limit = limit,
                       .unit = unit});
  }

  TemporaryFolder folder_;
  std::string path_;
};

TEST_F(CaptionDatasetTest, HasTheStartBeforeTokensAndTheEndAfterTargets) {
  const Sample sample = open(CaptionUnit::kCaption)->get(2);
  EXPECT_THAT(ids_of(sample, "tokens"), ElementsAre(6, 3, 4, 0));
  EXPECT_THAT(ids_of(sample, "targets"), ElementsAre(3, 4, 0, 7));
  EXPECT_EQ(sample.at("image").as<const float>()[0], 0.2F);
}

TEST_F(CaptionDatasetTest, PadsTokensAndIgnoresPaddedTargets) {
  const auto dataset = open(CaptionUnit::kCaption);
  const std::vector<Sample> samples = {dataset->get(0), dataset->get(2)};
  const HostBatch batch = collate(samples, std::vector<std::int64_t>{0, 2}, dataset->fields(),
                                  {.mode = PaddingMode::kLongest});
  EXPECT_THAT(ids_of(batch, "tokens"), ElementsAre(6, 0, 5, 5, 6, 3, 4, 0));
  EXPECT_THAT(ids_of(batch, "targets"), ElementsAre(0, 7, kNoTarget, kNoTarget, 3, 4, 0, 7));
  EXPECT_EQ(dataset->fields()[0].shape[0], 5) << "the longest of all";
}

TEST_F(CaptionDatasetTest, TargetsTheEndAlsoIfItPads) {
  const CaptionFrame frame{.start = 7, .end = 7, .pad = 7};
  const Ids targets = caption_targets("a b", *words_a_to_e(), frame, {});
  EXPECT_THAT(targets, ElementsAre(0, 1, 7));
  Sample sample;
  add_caption(sample, targets, frame);
  EXPECT_THAT(ids_of(sample, "tokens"), ElementsAre(7, 0, 1));
  EXPECT_EQ(caption_fields(3, frame)[0].pad_value, 7);
  EXPECT_EQ(caption_fields(3, frame)[1].pad_value, kNoTarget);
}

TEST_F(CaptionDatasetTest, EvaluatesEveryCaption) {
  const auto dataset = open(CaptionUnit::kCaption);
  ASSERT_EQ(dataset->size(), 6);
  std::vector<Ids> targets;
  std::vector<float> pixels;
  for (std::int64_t i = 0; i < dataset->size(); ++i) {
    const Sample sample = dataset->draw(i, {.seed = 3});
    targets.push_back(ids_of(sample, "targets"));
    pixels.push_back(sample.at("image").as<const float>()[0]);
    EXPECT_EQ(dataset->lengths(i).at("tokens"), std::ssize(targets.back()));
  }
  EXPECT_THAT(targets, ElementsAre(Ids{0, 7}, Ids{1, 2, 7}, Ids{3, 4, 0, 7}, Ids{4, 7},
                                   Ids{2, 2, 2, 2, 7}, Ids{3, 7}));
  EXPECT_THAT(pixels, ElementsAre(0.2F, 0.2F, 0.2F, 0.4F, 0.6F, 0.6F));
}

TEST_F(CaptionDatasetTest, DrawsACaptionBySeedEpochAndSample) {
  const auto dataset = open();
  ASSERT_EQ(dataset->size(), 3);
  std::map<Ids, int> counts;
  for (std::int64_t epoch = 0; epoch < 300; ++epoch) {
    const Ids drawn = ids_of(dataset->draw(0, {.seed = 1, .epoch = epoch}), "targets");
    EXPECT_EQ(drawn, ids_of(open()->draw(0, {.seed = 1, .epoch = epoch}), "targets"));
    ++counts[drawn];
  }
  ASSERT_EQ(counts.size(), 3U) << "each caption is drawn";
  for (const auto& [targets, count] : counts) EXPECT_GT(count, 70);
  std::set<Ids> of_seeds;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    of_seeds.insert(ids_of(dataset->draw(0, {.seed = seed, .epoch = 0}), "targets"));
  EXPECT_EQ(of_seeds.size(), 3U);
  EXPECT_EQ(dataset->lengths(0).at("targets"), 4) << "the longest that may be drawn";
}

TEST_F(CaptionDatasetTest, NamesTheLineOfACaptionThatIsTooLong) {
  EXPECT_EQ(data_error([&] { open(CaptionUnit::kImage, OnBadSample::kError, {.tokens = 4}); }),
            path_ +
                ":3: a caption of 5 tokens, its end included, but a sample takes at most 4: give a "
                "longer data.sequence_length, or data.on_too_long: truncate, which cuts off the "
                "end");
  const auto cut = open(CaptionUnit::kCaption, OnBadSample::kError,
                        {.tokens = 3, .on_too_long = OnTooLong::kTruncate});
  EXPECT_THAT(ids_of(cut->get(4), "tokens"), ElementsAre(6, 2, 2));
  EXPECT_THAT(ids_of(cut->get(4), "targets"), ElementsAre(2, 2, 2)) << "without an end";
  EXPECT_THAT(ids_of(cut->get(1), "targets"), ElementsAre(1, 2, 7)) << "as long as it may be";
}

TEST_F(CaptionDatasetTest, NamesTheLineOfAnImageThatCannotBeRead) {
  folder_.write("2.png", "");
  EXPECT_EQ(data_error([&] { fetch_sample(*open(), 1); }),
            "sample 1 (" + folder_ / "2.png) cannot be loaded: " + path_ +
                ":2: " + folder_ / "2.png: neither a PNG nor a JPEG image: the file is empty");
  std::filesystem::remove(folder_ / "2.png");
  EXPECT_EQ(data_error([&] { open(); }), path_ + ":2: " + folder_ / "2.png: no such image");
  EXPECT_EQ(open(CaptionUnit::kImage, OnBadSample::kSkip)->size(), 3);
}

// A replaced sample must not be longer than lengths() says: ranks pad by it.
TEST_F(CaptionDatasetTest, ReplacesAnImageByOneWithACaptionThatIsNoLonger) {
  folder_.write("2.png", "");
  const auto dataset = open(CaptionUnit::kImage, OnBadSample::kSkip);
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
    std::vector<std::string> skipped;
    const Sample sample = dataset->draw(1, {.seed = 0, .epoch = epoch, .skipped = &skipped});
    EXPECT_THAT(ids_of(sample, "targets"), ElementsAre(3, 7));
    EXPECT_EQ(sample.at("image").as<const float>()[0], 0.6F);
    EXPECT_THAT(skipped, ElementsAre(path_ + ":2: " +
                                     folder_ / "2.png: neither a PNG nor a JPEG "
                                               "image: the file is empty"));
  }
  folder_.write("3.png", "");
  write(R"({"image": "1.png", "caption": "a b"}
{"image": "2.png", "caption": "e"}
{"image": "3.png", "caption": "d"})");
  EXPECT_EQ(data_error([&] {
              open(CaptionUnit::kImage, OnBadSample::kSkip)->draw(1, {.seed = 0, .epoch = 0});
            }),
            path_ + ":2: " +
                folder_ /
                    "2.png: neither a PNG nor a JPEG image: the file is empty; the 1 images "
                    "after it cannot be read either: data.on_bad_sample=skip skips at most "
                    "15 in a row; remove them");
}

TEST_F(CaptionDatasetTest, EvaluatesWithoutImagesThatCannotBeRead) {
  folder_.write("1.png", "");
  std::vector<std::string> skipped;
  const auto dataset = open(CaptionUnit::kCaption, OnBadSample::kSkip);
  const Sample sample = dataset->draw(1, {.seed = 0, .skipped = &skipped});
  EXPECT_EQ(skipped.size(), 1U);
  EXPECT_EQ(sample.at("image").as<const float>()[0], 0);
  EXPECT_THAT(ids_of(sample, "targets"), ElementsAre(1, 2, 7)) << "its own";
}

TEST_F(CaptionDatasetTest, HasADigestOfCaptionsAndImages) {
  const std::string before = open()->digest();
  EXPECT_EQ(open(CaptionUnit::kCaption)->digest(), before);
  add_image("2.png", 103);
  const std::string other_image = open()->digest();
  EXPECT_NE(other_image, before);
  write(R"({"image": "1.png", "captions": ["a", "b c", "d e b"]}
{"image": "2.png", "caption": "e"}
{"image": "3.png", "captions": ["c c c c", "d"]})");
  EXPECT_NE(open()->digest(), other_image);
}

TEST_F(CaptionDatasetTest, SaysWhatItHas) {
  EXPECT_EQ(open()->describe(), path_ + ": 3 images with 6 captions of at most 5 tokens");
  EXPECT_EQ(open()->source(2), folder_ / "3.png");
  EXPECT_DOUBLE_EQ(open()->mean_length(), 3.0);
}

}  // namespace
}  // namespace lockstep
