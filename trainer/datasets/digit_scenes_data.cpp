#include "trainer/datasets/digit_scenes_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <memory>

#include "core/base/error.h"
#include "data/captions/digit_scene_dataset.h"
#include "trainer/datasets/caption_tokens.h"
#include "trainer/datasets/idx_keys.h"

namespace lockstep {
namespace {

/// The image keys that have a meaning for scenes, which are made in the size of samples.
bool is_of_scenes(const Key& key) {
  constexpr std::array<std::string_view, 3> kNames = {"image_size", "normalize_mean",
                                                      "normalize_std"};
  return std::ranges::find(kNames, key.name) != kNames.end();
}

struct DigitSplit {
  DigitSource train;
  DigitSource validation = {};  ///< without images: there is none
};

DigitSource digits_of(std::shared_ptr<const ImageArray> images,
                      const std::optional<IndexRange>& range) {
  const IndexRange all = range.value_or(IndexRange{0, images->size()});
  return {std::move(images), all.begin, all.end};
}

DigitSplit split_digits(const DigitScenesData& data) {
  const auto read = [&](const std::vector<std::string>& of_images,
                        const std::vector<std::string>& of_labels) {
    return std::make_shared<const ImageArray>(
        read_idx_files(DigitScenesData::kName, of_images, of_labels, data.images.max_file_bytes()));
  };
  DigitSplit out{.train = digits_of(read(data.path, data.labels), data.train_range)};
  if (!data.val_path.empty()) {
    out.validation = digits_of(read(data.val_path, data.val_labels), data.val_range);
  } else if (data.val_range) {
    out.validation = digits_of(out.train.images, data.val_range);
  } else if (data.val_fraction > 0) {
    const auto kept = static_cast<std::int64_t>(
        static_cast<double>(out.train.end - out.train.begin) * (1.0 - data.val_fraction));
    out.validation = out.train;
    out.validation.begin = out.train.end = out.train.begin + kept;
  }
  return out;
}

/// Words for a tokenizer that learns characters.
std::string scene_words() {
  std::string out;
  for (const std::string& caption : scene_captions()) out += caption;
  return out;
}

}  // namespace

std::vector<Key> DigitScenesData::keys() {
  std::vector<Key> out = idx_keys<DigitScenesData>();
  out.push_back(val_fraction_key<DigitScenesData>());
  out.push_back({.name = "num_samples",
                 .member = bind<&DigitScenesData::num_samples>(),
                 .range = count_at_least(1),
                 .unit = "samples",
                 .doc = "Number of scenes of an epoch, new ones in each."});
  out.push_back({.name = "val_samples",
                 .member = bind<&DigitScenesData::val_samples>(),
                 .range = count_at_least(1),
                 .unit = "samples",
                 .doc = "Number of scenes to validate on, the same ones each time."});
  out.push_back({.name = "digit_px",
                 .member = bind<&DigitScenesData::digit_px>(),
                 .range = size_at_least(kClearPixels),
                 .unit = "pixels",
                 .doc = "Height and width of a digit in a scene."});
  out.push_back(file_size_key<DigitScenesData>());
  std::vector<Key> of_images;
  add_image_keys<DigitScenesData>(of_images);
  std::ranges::copy_if(of_images, std::back_inserter(out), is_of_scenes);
  return out;
}

void DigitScenesData::check(const Config& run, const ReportProblem& report) const {
  check_idx_files(*this, report);
  check_images(images, run, report);
  if (!val_path.empty()) return;
  check_idx_ranges(*this, report);
  if (!val_range) check_validation(*this, run, report);
}

DataSource DigitScenesData::open(const OpenContext& context) const {
  const ImageOptions as_asked = images.options(images.shape_for(context.needs.image), 0);
  const TokenizerPtr tokenizer = context.has_tokenizer()
                                     ? context.open_tokenizer("the captions", scene_words())
                                     : scene_tokenizer();
  DigitSceneOptions options{.shape = as_asked.shape,
                            .scaling = as_asked.scaling,
                            .digit_px = digit_px,
                            .samples = num_samples,
                            .seed = context.seed,
                            .frame = caption_frame(context.needs, *tokenizer),
                            .sequence_length = context.sequence_length};
  const DigitSplit digits = split_digits(*this);
  const auto train = std::make_shared<DigitSceneDataset>(digits.train, tokenizer, options);
  DataSource out{.train = train,
                 .tokenizer = tokenizer,
                 .vocab_size = tokenizer->vocab_size(),
                 .tokens_per_sample = std::llround(train->mean_length())};
  if (digits.validation.images != nullptr) {
    options.fixed = true;
    options.samples = val_samples;
    const auto scenes = std::make_shared<DigitSceneDataset>(digits.validation, tokenizer, options);
    out.validation = scenes;
    out.captioned = {.images = scenes, .captions = [scenes](std::int64_t index) {
                       return std::vector<std::string>{caption_of(scenes->scene(index, {}))};
                     }};
  }
  return out;
}

}  // namespace lockstep
