#include "data/captions/digit_scene_dataset.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "data/images/resize.h"
#include "data/samples/digest.h"

namespace lockstep {
namespace {

SceneSize scene_size(const DigitSceneOptions& options) {
  return {.height = options.shape[1], .width = options.shape[2], .digit = options.digit_px};
}

std::vector<std::int32_t> digit_classes(const DigitSource& digits) {
  const ImageArray& images = *digits.images;
  LS_USER_CHECK(digits.begin >= 0 && digits.begin < digits.end && digits.end <= images.size(),
                "{}: there is no range [{}, {}) of {} images", images.source(0), digits.begin,
                digits.end, images.size());
  std::vector<std::int32_t> out;
  for (std::int64_t i = digits.begin; i < digits.end; ++i) {
    const std::int64_t label = images.label(i);
    if (label < 0 || label > 9)
      raise(ErrorKind::kData, "{}: label {} of image {} is not a digit", images.label_source(i),
            label, i);
    out.push_back(static_cast<std::int32_t>(label));
  }
  return out;
}

/// Copies a grey image to its place on a grey canvas.
void paste(const Raster& image, const SceneDigit& place, Raster& canvas) {
  for (std::int64_t y = 0; y < image.height; ++y)
    std::copy_n(image.pixels.begin() + y * image.width, image.width,
                canvas.pixels.begin() + (place.y0 + y) * canvas.width + place.x0);
}

}  // namespace

DigitSceneDataset::DigitSceneDataset(DigitSource digits, TokenizerPtr tokenizer,
                                     const DigitSceneOptions& options)
    : digits_(std::move(digits)),
      tokenizer_(std::move(tokenizer)),
      options_(options),
      tensors_(options.shape, {}, options.scaling),
      classes_(digit_classes(digits_)) {
  check_scene_size(scene_size(options));
  const std::int64_t channels = options.shape[0];
  LS_USER_CHECK(channels == 1 || channels == 3,
                "scenes of digits have 1 channel (grey) or 3 (colour), not {}", channels);
  const std::int64_t stored = digits_.images->shape()[0];
  if (stored != 1 && stored != 3)
    raise(ErrorKind::kData, "{}: images of {} channels are no digits", digits_.images->source(0),
          stored);
  LS_USER_CHECK(options.samples >= 1, "scenes of digits: at least one sample, not {}",
                options.samples);
  for (const std::string& caption : scene_captions())
    longest_ =
        std::max(longest_, std::ssize(caption_targets(caption, *tokenizer_, options.frame, {})));
  LS_USER_CHECK(
      options.sequence_length == 0 || longest_ <= options.sequence_length,
      "the longest caption of a scene has {} tokens, its end included, but a sample takes "
      "at most {}: give a longer data.sequence_length",
      longest_, options.sequence_length);
}

std::vector<FieldSpec> DigitSceneDataset::fields() const {
  std::vector<FieldSpec> out = caption_fields(longest_, options_.frame);
  out.push_back({"image", DType::kF32, tensors_.shape()});
  return out;
}

DigitScene DigitSceneDataset::scene(std::int64_t index, const DrawKey& key) const {
  check_index(*this, index);
  const RngKey rng{.seed = options_.seed,
                   .stream = rng_stream(options_.fixed ? "fixed digit scenes" : "digit scenes",
                                        static_cast<std::uint64_t>(index)),
                   .step = options_.fixed ? 0 : static_cast<std::uint64_t>(key.epoch.value_or(0))};
  DigitScene out = draw_scene(scene_size(options_), classes_, rng);
  for (SceneDigit& digit : out.digits) digit.source += digits_.begin;
  return out;
}

std::vector<std::int32_t> DigitSceneDataset::targets(const DigitScene& scene) const {
  return caption_targets(caption_of(scene), *tokenizer_, options_.frame, {});
}

Raster DigitSceneDataset::canvas(const DigitScene& scene) const {
  Raster out{.height = options_.shape[1], .width = options_.shape[2], .channels = 1};
  out.pixels.resize(static_cast<std::size_t>(out.height * out.width));
  for (const SceneDigit& digit : scene.digits) {
    Raster image = with_channels(digits_.images->image(digit.source), 1);
    const ImageBox whole{.right = static_cast<double>(image.width),
                         .bottom = static_cast<double>(image.height)};
    if (image.height != options_.digit_px || image.width != options_.digit_px)
      image = resize(image, whole, options_.digit_px, options_.digit_px, Interpolation::kBilinear);
    paste(image, digit, out);
  }
  return with_channels(std::move(out), options_.shape[0]);
}

Sample DigitSceneDataset::draw(std::int64_t index, const DrawKey& key) const {
  const DigitScene drawn = scene(index, key);
  Sample out = {{"image", tensors_.scaled(canvas(drawn))}};
  add_caption(out, targets(drawn), options_.frame);
  return out;
}

std::map<std::string, std::int64_t> DigitSceneDataset::lengths(std::int64_t index) const {
  return caption_lengths(options_.fixed ? std::ssize(targets(scene(index, {}))) : longest_);
}

std::string DigitSceneDataset::digest() const {
  return sha256_hex(fmt::format("{} {} [{}, {}) of {}", describe(), options_.seed, digits_.begin,
                                digits_.end, digits_.images->digest()));
}

std::string DigitSceneDataset::describe() const {
  return fmt::format("{} scenes {} of {} digits{}", size(), tensors_.shape().to_string(),
                     classes_.size(), options_.fixed ? ", the same in every epoch" : "");
}

std::string DigitSceneDataset::source(std::int64_t index) const {
  check_index(*this, index);
  return digits_.images->source(0);
}

double DigitSceneDataset::mean_length() const {
  const std::int64_t count = std::min<std::int64_t>(size(), 256);
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(targets(scene(i, {})).size());
  return sum / static_cast<double>(count);
}

}  // namespace lockstep
