#include "trainer/datasets/image_settings.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/error.h"

namespace lockstep {
namespace {

void check_count(std::string_view key, const std::vector<double>& values, std::int64_t channels) {
  LS_USER_CHECK(values.size() <= 1 || std::ssize(values) == channels,
                "'{}' has {} values, but images have {} channel{}; give one value for all, or one "
                "for each",
                key, values.size(), channels, channels == 1 ? "" : "s");
}

}  // namespace

std::optional<std::array<std::int64_t, 2>> ImageSettings::size() const {
  if (image_size.empty()) return std::nullopt;
  return std::array{image_size.front(), image_size.back()};
}

Shape ImageSettings::shape_for(const std::array<std::int64_t, 3>& of_model) const {
  const auto& [channels, height, width] = of_model;
  const auto [rows, columns] = size().value_or(std::array{height, width});
  // A model that takes any height and width declares a height of 1.
  LS_USER_CHECK(!image_size.empty() || height > 1,
                "data.image_size must be given: the model does not define a height and a width");
  return {channels, rows, columns};
}

ImageOptions ImageSettings::options(const Shape& shape, std::int64_t classes) const {
  LS_USER_CHECK(classes > 0 || (soft_labels.mixup == 0 && soft_labels.smoothing == 0),
                "data.mixup and data.label_smoothing are for models that classify");
  LS_USER_CHECK(augmentation.resize == 0 || augmentation.resize >= std::max(shape[1], shape[2]),
                "'data.resize: {}' leaves images smaller than the {} x {} that samples have",
                augmentation.resize, shape[1], shape[2]);
  check_count("data.normalize_mean", normalize_mean, shape[0]);
  check_count("data.normalize_std", normalize_std, shape[0]);
  return {.shape = Shape{Dim(shape[0], "channel"), Dim(shape[1], "height"), Dim(shape[2], "width")},
          .augmentation = augmentation,
          .scaling = {.mean = normalize_mean, .stddev = normalize_std},
          .classes = classes,
          .soft_labels = soft_labels};
}

void check_channels_of_files(std::int64_t channels, std::string_view what) {
  LS_USER_CHECK(channels == 1 || channels == 3,
                "{} has {} channels, but a PNG or JPEG file has 1 (grey) or 3 (colour)", what,
                channels);
}

ImageOptions for_evaluation(ImageOptions options) {
  options.soft_labels = {};
  return options;
}

void check_images(const ImageSettings& images, const Config& run, const ReportProblem& report) {
  if (images.image_size.size() > 2)
    report({"data.image_size", "data.type"},
           fmt::format("'data.image_size' must be height and width, not {} numbers",
                       images.image_size.size()));
  const Augmentation& changes = images.augmentation;
  if (changes.crop_scale[0] > changes.crop_scale[1])
    report({"data.crop_scale", "data.type"},
           "'data.crop_scale' must be the minimum, then the maximum");
  if (changes.crop_ratio[0] > changes.crop_ratio[1])
    report({"data.crop_ratio", "data.type"},
           "'data.crop_ratio' must be the minimum, then the maximum");
  if (images.soft_labels.mixup > 0 && run.batch.micro_batch_size == 1)
    report({"training.micro_batch_size", "data.mixup", "data.type"},
           "'data.mixup' mixes images of one micro-batch, but 'training.micro_batch_size' is 1");
  if (const auto size = images.size();
      size && images.augmentation.resize > 0 &&
      images.augmentation.resize < std::max((*size)[0], (*size)[1]))
    report({"data.resize", "data.image_size", "data.type"},
           fmt::format("'data.resize: {}' leaves images smaller than the {} x {} of "
                       "'data.image_size'",
                       images.augmentation.resize, (*size)[0], (*size)[1]));
}

void check_val_path(bool is_empty, const Config& run, const ReportProblem& report) {
  if (run.eval.interval == 0 || !is_empty) return;
  report({"eval.interval", "data.val_path", "data.type"},
         "'eval.interval' asks for evaluation, but there is nothing to evaluate on: give "
         "'data.val_path'");
}

ImagePair ImagesOfFiles::datasets(LabelledImages images) {
  const Shape& own = images.shape;
  if (!shape_) {
    const auto size = settings_.size().value_or(std::array{own[1], own[2]});
    shape_ = Shape{own[0], size[0], size[1]};
  } else if (own[0] != (*shape_)[0] || (settings_.image_size.empty() && own != *shape_)) {
    raise(ErrorKind::kData, "{}: images {}, but those trained on are {} [channel, height, width]{}",
          images.source, own.to_string(), shape_->to_string(),
          own[0] == (*shape_)[0] ? "; data.image_size resizes them to one size" : "");
  }
  const auto source = std::make_shared<ImageArray>(std::move(images));
  const ImageOptions options = settings_.options(*shape_, classes_);
  return {std::make_shared<ImageDataset>(source, options),
          std::make_shared<ImageDataset>(source, for_evaluation(options))};
}

}  // namespace lockstep
