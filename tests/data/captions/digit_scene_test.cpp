#include "data/captions/digit_scene.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "data/captions/digit_scene_dataset.h"
#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

constexpr std::array<std::int32_t, 10> kDigits = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

DigitScene scene_of(std::uint64_t number, const SceneSize& size = {}) {
  return draw_scene(size, kDigits, {.seed = 5, .stream = number});
}

/// The relation of a digit to another one, from their centres, written apart from the product.
std::string seen_from(const SceneDigit& one, const SceneDigit& other) {
  const double x = 0.5 * static_cast<double>(other.x0 + other.x1 - one.x0 - one.x1);
  const double y = 0.5 * static_cast<double>(other.y0 + other.y1 - one.y0 - one.y1);
  std::vector<std::string> holds;
  if (x - y >= 8 && x + y >= 8) holds.emplace_back("left of");
  if (-x - y >= 8 && -x + y >= 8) holds.emplace_back("right of");
  if (y - x >= 8 && y + x >= 8) holds.emplace_back("above");
  if (-y - x >= 8 && -y + x >= 8) holds.emplace_back("below");
  EXPECT_EQ(holds.size(), 1U) << "exactly one relation holds";
  return holds.empty() ? "" : holds[0];
}

std::string described(const DigitScene& scene) {
  const auto& d = scene.digits;
  const auto name = [&](std::size_t i) { return "a " + std::to_string(d[i].digit); };
  if (d.size() == 1) return name(0);
  std::string pair = name(0) + " " + seen_from(d[0], d[1]) + " " + name(1);
  if (d.size() == 2) return pair;
  const std::string third = seen_from(d[2], d[1]);
  if (third == "right of") return pair + " and it left of " + name(2);
  return pair + " and " + name(2) + " " + third + " it";
}

/// The digits that a caption names.
std::vector<std::int32_t> digits_named_in(const std::string& caption) {
  std::istringstream words(caption);
  std::vector<std::int32_t> out;
  for (std::string word; words >> word;)
    if (word.size() == 1 && word[0] >= '0' && word[0] <= '9') out.push_back(word[0] - '0');
  return out;
}

std::vector<std::int32_t> classes_of(const DigitScene& scene) {
  std::vector<std::int32_t> out;
  out.reserve(scene.digits.size());
  for (const SceneDigit& digit : scene.digits) out.push_back(digit.digit);
  return out;
}

TEST(DigitSceneTest, PlacesDigitsApartFromEachOtherWithinTheCanvas) {
  std::map<std::size_t, int> counts;
  for (std::uint64_t i = 0; i < 600; ++i) {
    const DigitScene scene = scene_of(i, {.height = 64, .width = 80, .digit = 20});
    ++counts[scene.digits.size()];
    std::set<std::pair<std::int64_t, std::int64_t>> covered;
    for (const auto& [digit, source, x0, y0, x1, y1] : scene.digits) {
      EXPECT_EQ(digit, kDigits.at(static_cast<std::size_t>(source)));
      EXPECT_TRUE(x0 >= 0 && x1 == x0 + 20 && x1 <= 80 && y0 >= 0 && y1 == y0 + 20 && y1 <= 64);
      for (std::int64_t x = x0; x < x1; ++x)
        for (std::int64_t y = y0; y < y1; ++y)
          ASSERT_TRUE(covered.emplace(x, y).second) << "a pixel of two digits";
    }
  }
  ASSERT_EQ(counts.size(), 3U);
  for (const auto& [digits, count] : counts) EXPECT_NEAR(count, 200, 50);
}

TEST(DigitSceneTest, HasTheCaptionThatItsPlacesImply) {
  std::set<std::string> kinds;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const DigitScene scene = scene_of(i, {.height = 96, .width = 96, .digit = 20});
    std::string caption = caption_of(scene);
    ASSERT_EQ(caption, described(scene));
    EXPECT_EQ(digits_named_in(caption), classes_of(scene));
    for (char& c : caption)
      if (c >= '0' && c <= '9') c = '0';
    kinds.insert(caption);
  }
  EXPECT_EQ(kinds.size(), 13U) << "every form of a caption occurs";
}

TEST(DigitSceneTest, NamesTheDigitsFromLeftToRight) {
  const auto digit = [](std::int32_t which, std::int64_t x, std::int64_t y) {
    return SceneDigit{which, 0, x, y, x + 10, y + 10};
  };
  EXPECT_EQ(caption_of({{digit(3, 4, 4)}}), "a 3");
  EXPECT_EQ(caption_of({{digit(3, 0, 20), digit(7, 20, 25)}}), "a 3 left of a 7");
  EXPECT_EQ(caption_of({{digit(3, 0, 20), digit(7, 20, 20), digit(1, 25, 0)}}),
            "a 3 left of a 7 and a 1 above it");
  EXPECT_EQ(caption_of({{digit(3, 0, 20), digit(7, 5, 0), digit(1, 25, 0)}}),
            "a 3 below a 7 and it left of a 1");
  EXPECT_EQ(caption_of({{digit(3, 5, 0), digit(7, 5, 20), digit(1, 6, 40)}}),
            "a 3 above a 7 and a 1 below it");
  EXPECT_EQ(caption_of({{digit(3, 0, 0), digit(7, 20, 12)}}), "a 3 left of a 7");
  EXPECT_EQ(error_of(ErrorKind::kInternal,
                     [&] {
                       caption_of({{digit(3, 0, 0), digit(7, 20, 13)}});
                     })
                .substr(0, 4),
            "inte")
      << "7 pixels are not clear";
}

TEST(DigitSceneTest, IsAFunctionOfItsKey) {
  EXPECT_EQ(scene_of(3), scene_of(3));
  std::set<std::string> captions;
  for (std::uint64_t i = 0; i < 50; ++i) captions.insert(caption_of(scene_of(i)));
  EXPECT_GT(captions.size(), 30U);
}

TEST(DigitSceneTest, HasFewerDigitsWhereMoreDoNotFit) {
  const SceneSize narrow{.height = 16, .width = 48, .digit = 16};
  std::map<std::size_t, int> counts;
  for (std::uint64_t i = 0; i < 300; ++i) ++counts[scene_of(i, narrow).digits.size()];
  EXPECT_GT(counts[2], counts[3]) << "three fit in one way only, which 256 draws may miss";
  EXPECT_NO_THROW(check_scene_size(narrow));
  EXPECT_NO_THROW(check_scene_size({.height = 32, .width = 32, .digit = 16}));
  EXPECT_EQ(usage_error([] { check_scene_size({.height = 28, .width = 28, .digit = 20}); }),
            "a canvas of 28 x 28 pixels has no room for three digits of 20 x 20 pixels; digits "
            "have at least 8");
  EXPECT_EQ(usage_error([] { check_scene_size({.height = 28, .width = 28, .digit = 4}); }),
            "a canvas of 28 x 28 pixels has no room for three digits of 4 x 4 pixels; digits have "
            "at least 8");
}

TEST(DigitSceneTest, HasATokenizerOfItsWords) {
  const TokenizerPtr tokenizer = scene_tokenizer();
  EXPECT_EQ(tokenizer->vocab_size(), 21);
  EXPECT_EQ(tokenizer->special().pad, 0);
  EXPECT_EQ(tokenizer->special().bos, 1);
  EXPECT_EQ(tokenizer->special().eos, 2);
  EXPECT_EQ(tokenizer->special().unk, 3);
  const std::vector<std::string> all = scene_captions();
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), 10U + 300 + 9000) << "no two are the same";
  for (std::size_t i = 0; i < all.size(); i += 7) {
    const std::vector<std::int32_t> ids = tokenizer->encode(all[i]);
    EXPECT_EQ(tokenizer->decode(ids), all[i]);
    EXPECT_EQ(std::ranges::count(all[i], ' ') + 1, std::ssize(ids)) << all[i];
    EXPECT_EQ(std::ranges::count(ids, 3), 0) << "nothing is unknown";
  }
}

/// Images of 2 x 2 pixels of one value each: image i has the label i % 10 and the pixels 10 + i.
DigitSource digit_images(std::int64_t count, std::int64_t begin, std::int64_t end) {
  LabelledImages out{.source = "digits", .shape = {1, 2, 2}};
  for (std::int64_t i = 0; i < count; ++i) {
    out.labels.push_back(static_cast<std::int32_t>(i % 10));
    out.pixels.insert(out.pixels.end(), 4, static_cast<std::uint8_t>(10 + i));
  }
  return {std::make_shared<ImageArray>(std::move(out)), begin, end};
}

DigitSceneOptions scene_options() {
  return {.shape = {1, 40, 48},
          .digit_px = 12,
          .samples = 40,
          .seed = 9,
          .frame = {.start = 1, .end = 2, .pad = 0}};
}

TEST(DigitSceneDatasetTest, ShowsTheDigitsWhereTheSceneSays) {
  DigitSceneOptions options = scene_options();
  options.shape = {3, 40, 48};
  const DigitSceneDataset dataset(digit_images(40, 0, 40), scene_tokenizer(), options);
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const DrawKey key{.seed = 1, .epoch = 2};
    const DigitScene scene = dataset.scene(i, key);
    std::vector<float> expected(std::size_t{3} * 40 * 48);
    for (const SceneDigit& digit : scene.digits)
      for (std::int64_t c = 0; c < 3; ++c)
        for (std::int64_t y = digit.y0; y < digit.y1; ++y)
          for (std::int64_t x = digit.x0; x < digit.x1; ++x)
            expected[static_cast<std::size_t>((c * 40 + y) * 48 + x)] =
                static_cast<float>(static_cast<double>(10 + digit.source) / 255.0);
    const Sample sample = dataset.draw(i, key);
    const auto image = sample.at("image").as<const float>();
    ASSERT_TRUE(std::ranges::equal(image, expected));
    const auto tokens = sample.at("tokens").as<const std::int32_t>();
    const auto targets = sample.at("targets").as<const std::int32_t>();
    EXPECT_EQ(tokens[0], 1);
    EXPECT_EQ(targets.back(), 2);
    EXPECT_EQ(scene_tokenizer()->decode(targets.first(targets.size() - 1)), caption_of(scene));
    EXPECT_LE(std::ssize(targets), dataset.lengths(i).at("tokens"));
  }
}

TEST(DigitSceneDatasetTest, DrawsNewScenesInEveryEpochUnlessTheyAreFixed) {
  DigitSceneOptions options = scene_options();
  const DigitSceneDataset changing(digit_images(40, 0, 30), scene_tokenizer(), options);
  options.fixed = true;
  const DigitSceneDataset fixed(digit_images(40, 30, 40), scene_tokenizer(), options);
  int changed = 0;
  for (std::int64_t i = 0; i < 40; ++i) {
    EXPECT_EQ(changing.scene(i, {.epoch = 1}), changing.scene(i, {.seed = 8, .epoch = 1}));
    changed += changing.scene(i, {.epoch = 1}) == changing.scene(i, {.epoch = 2}) ? 0 : 1;
    EXPECT_EQ(fixed.scene(i, {.epoch = 1}), fixed.scene(i, {}));
    EXPECT_EQ(fixed.lengths(i).at("targets"), fixed.get(i).at("targets").shape()[0]);
    for (const SceneDigit& digit : changing.scene(i, {.epoch = 1}).digits)
      EXPECT_LT(digit.source, 30) << "of those trained on";
    for (const SceneDigit& digit : fixed.scene(i, {}).digits) {
      EXPECT_GE(digit.source, 30) << "of the others";
      EXPECT_EQ(digit.digit, digit.source % 10);
    }
  }
  EXPECT_GT(changed, 35);
  EXPECT_NE(changing.digest(), fixed.digest());
  EXPECT_EQ(changing.lengths(0).at("tokens"), 13) << "the longest of any";
}

TEST(DigitSceneDatasetTest, RefusesWhatIsNoDigit) {
  const auto open = [](DigitSource digits, const DigitSceneOptions& options) {
    DigitSceneDataset(std::move(digits), scene_tokenizer(), options);
  };
  DigitSource letters = {std::make_shared<ImageArray>(LabelledImages{.source = "letters",
                                                                     .shape = {1, 1, 1},
                                                                     .pixels = {1, 2},
                                                                     .labels = {3, 10},
                                                                     .label_source = "names"}),
                         0, 2};
  EXPECT_EQ(data_error([&] { open(letters, scene_options()); }),
            "names: label 10 of image 1 is not a digit");
  EXPECT_EQ(usage_error([&] { open(digit_images(4, 2, 5), scene_options()); }),
            "digits: there is no range [2, 5) of 4 images");
  DigitSceneOptions options = scene_options();
  options.shape = {4, 40, 48};
  EXPECT_EQ(usage_error([&] { open(digit_images(4, 0, 4), options); }),
            "scenes of digits have 1 channel (grey) or 3 (colour), not 4");
  options = scene_options();
  options.sequence_length = 12;
  EXPECT_EQ(usage_error([&] { open(digit_images(4, 0, 4), options); }),
            "the longest caption of a scene has 13 tokens, its end included, but a sample takes at "
            "most 12: give a longer data.sequence_length");
}

}  // namespace
}  // namespace lockstep
