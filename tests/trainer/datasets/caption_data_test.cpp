// Datasets of captioned images as opened by the registry's rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "data/captions/digit_scene_dataset.h"
#include "data/tokenizers/tokenizer_documents.h"
#include "tests/data/images/idx_file.h"
#include "tests/data/images/image_files.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"
#include "trainer/datasets/caption_tokens.h"
#include "trainer/datasets/captions_data.h"
#include "trainer/datasets/digit_scenes_data.h"
#include "trainer/datasets/synthetic_data.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::int32_t> ids_in(const Sample& sample, const std::string& field) {
  const auto values = sample.at(field).as<const std::int32_t>();
  return {values.begin(), values.end()};
}

/// What check() reports, "key: message".
template <class Data>
std::vector<std::string> reported(const Data& data, const Config& run) {
  std::vector<std::string> out;
  data.check(run, [&](std::initializer_list<std::string_view> keys, std::string message) {
    out.push_back(fmt::format("{}: {}", *keys.begin(), message));
  });
  return out;
}

/// Tokens a 0, cat 1, dog 2, and some of the special ones: [PAD], [BOS], [EOS].
std::string words_document(std::vector<std::string> special) {
  std::vector<std::string> tokens = {"a", "cat", "dog", "[UNK]"};
  tokens.insert(tokens.end(), special.begin(), special.end());
  return word_piece_document(tokens, /*lowercase=*/false, {"[BOS]", "[EOS]"});
}

OpenContext captions_for(std::array<std::int64_t, 3> image, CaptionTokens caption = {}) {
  return {.needs = {.inputs = "captioned_images", .image = image, .caption = caption},
          .sequence_length = 16,
          .seed = 3,
          .tokenizer_json = words_document({"[PAD]", "[BOS]", "[EOS]"})};
}

class CaptionsRow : public testing::Test {
 protected:
  CaptionsRow() {
    std::filesystem::create_directory(folder_ / "images");
    folder_.write("images/1.png", encode_png({.height = 4, .width = 4}));
    folder_.write("images/2.jpg", encode_jpeg({.height = 9, .width = 7}));
    data_.path = folder_.write("train.jsonl",
                               "{\"image\": \"images/1.png\", \"captions\": [\"a cat\", \"cat\"]}\n"
                               "{\"image\": \"images/2.jpg\", \"caption\": \"a dog\"}\n");
    data_.val_path = folder_.write("val.json", R"({"images": [{"id": 4, "file_name": "1.png"}],
                        "annotations": [{"image_id": 4, "caption": "cat"},
                                        {"image_id": 4, "caption": "a dog a dog"}]})");
    data_.val_image_folder = folder_ / "images";
  }

  TemporaryFolder folder_;
  CaptionsData data_;
};

TEST_F(CaptionsRow, GivesWhatTheModelTakes) {
  const DataSource out = data_.open(captions_for({3, 8, 6}));
  EXPECT_EQ(out.train->size(), 2);
  EXPECT_EQ(out.vocab_size, 7);
  EXPECT_EQ(out.tokens_per_sample, 3);
  EXPECT_EQ(out.validation->size(), 2) << "captions";
  const Sample sample = out.validation->get(1);
  EXPECT_EQ(sample.at("image").shape(), (Shape{3, 8, 6}));
  EXPECT_THAT(ids_in(sample, "tokens"), ElementsAre(5, 0, 2, 0, 2));
  EXPECT_THAT(ids_in(sample, "targets"), ElementsAre(0, 2, 0, 2, 6));
  EXPECT_EQ(out.train->fields()[0].pad_value, 4);
  const DataSource given = data_.open(captions_for({3, 8, 6}, {.start = 1, .end = 2, .pad = 2}));
  EXPECT_THAT(ids_in(given.train->get(1), "tokens"), ElementsAre(1, 0, 2));
  EXPECT_THAT(ids_in(given.train->get(1), "targets"), ElementsAre(0, 2, 2));
  EXPECT_EQ(given.train->fields()[0].pad_value, 2);
}

TEST_F(CaptionsRow, AgreesOnTheImagesThatItsFilesName) {
  const std::vector<Key> keys = CaptionsData::keys();
  const auto files = [&](const std::string& name, const std::string& path) {
    return std::ranges::find(keys, name, &Key::name)->files_in(path, &data_);
  };
  EXPECT_THAT(files("path", data_.path),
              ElementsAre(data_.path, folder_ / "images/1.png", folder_ / "images/2.jpg"));
  EXPECT_THAT(files("val_path", data_.val_path),
              ElementsAre(data_.val_path, folder_ / "images/1.png"));
}

TEST_F(CaptionsRow, TruncatesOnlyIfItMay) {
  OpenContext context = captions_for({3, 4, 4});
  context.sequence_length = 4;
  EXPECT_EQ(data_error([&] { data_.open(context); }),
            data_.val_path +
                ": annotations[1]: a caption of 5 tokens, its end included, but a sample takes at "
                "most 4: give a longer data.sequence_length, or data.on_too_long: truncate, which "
                "cuts off the end");
  data_.on_too_long = OnTooLong::kTruncate;
  EXPECT_THAT(ids_in(data_.open(context).validation->get(1), "targets"), ElementsAre(0, 2, 0, 2));
}

TEST_F(CaptionsRow, RefusesWhatDoesNotFitTheModel) {
  EXPECT_EQ(usage_error([&] {
              data_.open(captions_for({4, 8, 8}));
            }),
            "the model has 4 channels, but a PNG or JPEG file has 1 (grey) or 3 (colour)");
  EXPECT_EQ(usage_error([&] {
              data_.open(captions_for({3, 1, 8}));
            }),
            "data.image_size must be given: the model does not define a height and a width");
  data_.images.soft_labels.smoothing = 0.1;
  EXPECT_EQ(usage_error([&] {
              data_.open(captions_for({3, 8, 8}));
            }),
            "data.mixup and data.label_smoothing are for models that classify");
}

TEST_F(CaptionsRow, ReportsWhatAConfigLacks) {
  Config run;
  run.tokenizer.type = TokenizerType::kFile;
  run.eval.interval = 5;
  EXPECT_THAT(reported(data_, run), IsEmpty());
  run.tokenizer.type = TokenizerType::kNone;
  data_.val_path = "";
  data_.images.soft_labels.smoothing = 0.1;
  EXPECT_THAT(
      reported(data_, run),
      ElementsAre("tokenizer.type: missing required key 'tokenizer.type': captions data needs one "
                  "(char, gpt2 or file)",
                  "data.label_smoothing: 'data.mixup' and 'data.label_smoothing' are for models "
                  "that classify, not for captions",
                  "eval.interval: 'eval.interval' asks for evaluation, but there is nothing to "
                  "evaluate on: give 'data.val_path'"));
}

TEST(CaptionFrameTest, IsWhatTheModelSaysOrElseTheTokenizer) {
  const auto frame = [](std::vector<std::string> special, CaptionTokens given = {}) {
    const TokenizerPtr tokenizer = tokenizer_of_document(words_document(std::move(special)), "x");
    const CaptionFrame out = caption_frame({.caption = given}, *tokenizer);
    return std::array{out.start, out.end, out.pad};
  };
  EXPECT_THAT(frame({"[PAD]", "[BOS]", "[EOS]"}), ElementsAre(5, 6, 4));
  EXPECT_THAT(frame({"[EOS]"}), ElementsAre(4, 4, 4)) << "as of GPT-2";
  EXPECT_THAT(frame({"[EOS]"}, {.start = 0, .end = 1}), ElementsAre(0, 1, 1));
  EXPECT_THAT(frame({}, {.start = 0, .end = 1, .pad = 2}), ElementsAre(0, 1, 2));
  EXPECT_THAT(frame({"[PAD]"}, {.start = 0, .end = 1}), ElementsAre(0, 1, 4));
}

TEST(CaptionFrameTest, NamesTheKeyThatWouldHelp) {
  const auto refusal = [](std::vector<std::string> special, const DataNeeds& needs) {
    const TokenizerPtr tokenizer = tokenizer_of_document(words_document(std::move(special)), "x");
    return usage_error([&] { caption_frame(needs, *tokenizer); });
  };
  EXPECT_EQ(refusal({}, {}),
            "the tokenizer has no token that begins or ends a text, as captions need: give its id "
            "as model.decoder_start_token_id, or choose another tokenizer");
  EXPECT_EQ(refusal({"[BOS]"}, {}),
            "the tokenizer has no token that ends a text, as captions need: give its id as "
            "model.eos_token_id, or choose another tokenizer");
  EXPECT_EQ(refusal({"[EOS]"}, {.caption = {.start = 5}}),
            "token 5 (model.decoder_start_token_id, or else the tokenizer's) is not one of the "
            "tokenizer's 5 tokens");
  EXPECT_EQ(refusal({"[EOS]"}, {.vocab_size = 4, .caption = {.start = 1}}),
            "token 4 (model.eos_token_id, or else the tokenizer's) is not one of the model's 4 "
            "tokens");
  EXPECT_EQ(refusal({"[EOS]"}, {.vocab_size = 9, .caption = {.pad = 9}}),
            "token 9 (model.pad_token_id, or else the tokenizer's) is not one of the model's 9 "
            "tokens");
}

class DigitScenesRow : public testing::Test {
 protected:
  DigitScenesRow() {
    data_.path = {folder_.write("images", idx_file({20, 4, 4}, '\x40'))};
    std::string labels = idx_header({20});
    for (char i = 0; i < 20; ++i) labels += static_cast<char>(i % 10);
    data_.labels = {folder_.write("labels", labels)};
    data_.num_samples = 50;
    data_.val_samples = 30;
    data_.digit_px = 12;
  }
  static OpenContext scenes_for(std::array<std::int64_t, 3> image) {
    OpenContext out = captions_for(image);
    out.tokenizer_json = "";
    return out;
  }
  /// The images of digits in the scenes of some epochs.
  static std::set<std::int64_t> sources(const DatasetPtr& dataset) {
    const auto& scenes = dynamic_cast<const DigitSceneDataset&>(*dataset);
    std::set<std::int64_t> out;
    for (std::int64_t epoch = 0; epoch < 3; ++epoch)
      for (std::int64_t i = 0; i < scenes.size(); ++i)
        for (const SceneDigit& digit : scenes.scene(i, {.epoch = epoch}).digits)
          out.insert(digit.source);
    return out;
  }

  TemporaryFolder folder_;
  DigitScenesData data_;
};

TEST_F(DigitScenesRow, GivesScenesWithItsOwnTokenizer) {
  const DataSource out = data_.open(scenes_for({3, 48, 40}));
  EXPECT_EQ(out.train->size(), 50);
  EXPECT_EQ(out.validation->size(), 30);
  EXPECT_EQ(out.vocab_size, 21);
  EXPECT_EQ(out.train->get(0).at("image").shape(), (Shape{3, 48, 40}));
  const Sample sample = out.validation->get(3);
  const std::vector<std::int32_t> targets = ids_in(sample, "targets");
  EXPECT_EQ(targets.back(), 2);
  EXPECT_EQ(out.tokenizer->decode(std::span(targets).first(targets.size() - 1)),
            caption_of(dynamic_cast<const DigitSceneDataset&>(*out.validation).scene(3, {})));
  EXPECT_GT(out.tokens_per_sample, 2);
}

TEST_F(DigitScenesRow, TakesAnImageSizeAndATokenizerThatAreGiven) {
  data_.images.image_size = {32};
  data_.images.normalize_mean = {0.5};
  OpenContext context = scenes_for({1, 1, 1});
  context.tokenizer.type = TokenizerType::kChar;
  context.sequence_length = 64;
  context.needs.caption = {.start = 0, .end = 0, .pad = 0};
  const DataSource out = data_.open(context);
  EXPECT_EQ(out.train->get(0).at("image").shape(), (Shape{1, 32, 32}));
  EXPECT_EQ(out.train->get(0).at("image").as<const float>()[0], -0.5F);
  EXPECT_EQ(out.tokenizer->decode(out.tokenizer->encode("a 3 left of a 7 and it below")),
            "a 3 left of a 7 and it below");
  context.tokenizer.type = TokenizerType::kNone;
  context.tokenizer_json = words_document({"[EOS]"});
  EXPECT_EQ(data_.open(context).tokenizer->vocab_size(), 5) << "a resumed run's";
}

TEST_F(DigitScenesRow, TrainsAndValidatesOnDifferentDigits) {
  const OpenContext context = scenes_for({1, 40, 40});
  const auto split = [&] {
    const DataSource out = data_.open(context);
    return std::pair{sources(out.train), sources(out.validation)};
  };
  const auto range = [](std::int64_t begin, std::int64_t end) {
    std::set<std::int64_t> out;
    for (std::int64_t i = begin; i < end; ++i) out.insert(i);
    return out;
  };
  EXPECT_EQ(split(), std::pair(range(0, 18), range(18, 20)));
  data_.val_fraction = 0.25;
  EXPECT_EQ(split(), std::pair(range(0, 15), range(15, 20)));
  data_.train_range = IndexRange{4, 12};
  EXPECT_EQ(split(), std::pair(range(4, 10), range(10, 12)));
  data_.val_range = IndexRange{14, 17};
  EXPECT_EQ(split(), std::pair(range(4, 12), range(14, 17)));
  data_.val_path = {folder_.write("val", idx_file({6, 4, 4}))};
  data_.val_labels = {folder_.write("val_labels", idx_file({6}))};
  data_.val_range = {};
  EXPECT_EQ(split(), std::pair(range(4, 12), range(0, 6)));
  data_.val_path = {};
  data_.val_fraction = 0;
  EXPECT_EQ(data_.open(context).validation, nullptr);
}

TEST_F(DigitScenesRow, RefusesWhatItCannotShow) {
  EXPECT_EQ(usage_error([&] {
              data_.open(scenes_for({1, 20, 20}));
            }),
            "a canvas of 20 x 20 pixels has no room for three digits of 12 x 12 pixels; digits "
            "have at least 8");
  EXPECT_EQ(usage_error([&] {
              data_.open(scenes_for({2, 40, 40}));
            }),
            "scenes of digits have 1 channel (grey) or 3 (colour), not 2");
  data_.labels.emplace_back("x");
  EXPECT_EQ(usage_error([&] {
              data_.open(scenes_for({1, 40, 40}));
            }),
            "data of type digit_scenes takes one file of images and one of labels, not 1 and 2");
}

TEST_F(DigitScenesRow, ReportsWhatAConfigLacks) {
  Config run;
  run.eval.interval = 5;
  EXPECT_THAT(reported(data_, run), IsEmpty());
  data_.val_fraction = 0;
  EXPECT_THAT(reported(data_, run),
              ElementsAre("eval.interval: 'eval.interval' asks for evaluation, but "
                          "'data.val_fraction: 0' leaves nothing to evaluate on"));
  data_.val_range = IndexRange{5, 9};
  data_.labels.emplace_back("x");
  data_.val_labels = {"y"};
  EXPECT_THAT(
      reported(data_, run),
      ElementsAre("data.labels: 'data.labels' names 2 files, but digit_scenes data takes one",
                  "data.val_path: 'data.val_path' and 'data.val_labels' must be given together",
                  "data.val_range: 'data.val_range' overlaps the samples trained on; give a "
                  "'data.train_range' apart from it, or a 'data.val_path'"));
}

OpenContext random_captions_of(std::int64_t sequence_length, CaptionTokens caption = {}) {
  return {.needs = {.inputs = "captioned_images",
                    .vocab_size = 50,
                    .image = {3, 8, 8},
                    .caption = caption},
          .sequence_length = sequence_length,
          .seed = 1};
}

TEST(SyntheticRow, GivesCaptionsOfTheLengthsAskedFor) {
  const DataSource out = SyntheticData{.num_samples = 200}.open(random_captions_of(40));
  EXPECT_EQ(out.train->fields()[0].shape[0], 40) << "the default is cut";
  EXPECT_EQ(out.tokens_per_sample, 20);
  EXPECT_EQ(out.vocab_size, 50);
  const Sample sample = out.train->get(0);
  EXPECT_EQ(sample.at("image").shape(), (Shape{3, 8, 8}));
  EXPECT_EQ(ids_in(sample, "tokens")[0], 49) << "without others, the last one";
  EXPECT_EQ(ids_in(sample, "targets").back(), 49);
  EXPECT_NE(ids_in(sample, "tokens"), ids_in(out.validation->get(0), "tokens"));
  const DataSource given = SyntheticData{.lengths = {{3, 3, 1}}}.open(
      random_captions_of(40, {.start = 1, .end = 2, .pad = 0}));
  EXPECT_EQ(ids_in(given.train->get(0), "tokens").size(), 3U);
  EXPECT_EQ(ids_in(given.train->get(0), "tokens")[0], 1);
  EXPECT_EQ(given.tokens_per_sample, 3);
}

TEST(SyntheticRow, RefusesLengthsThatDoNotFit) {
  EXPECT_EQ(usage_error([] {
              SyntheticData{.lengths = {{3, 41, 1}}}.open(random_captions_of(40));
            }),
            "'data.lengths' has captions of 41 tokens, but a sample takes at most 40");
  EXPECT_EQ(usage_error([] {
              SyntheticData{.lengths = {{3, 4, 1}}}.open(
                  {.needs = {.inputs = "tokens", .vocab_size = 50}, .sequence_length = 8});
            }),
            "'data.lengths' is for models that caption images");
  EXPECT_EQ(usage_error([] { SyntheticData{}.open(random_captions_of(40, {.end = 50})); }),
            "token 50 (model.eos_token_id, or else the tokenizer's) is not one of the model's 50 "
            "tokens");
}

}  // namespace
}  // namespace lockstep
