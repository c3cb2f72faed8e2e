// The common part of image datasets: their keys, and how images become samples. A dataset's struct
// has a member `images` of this type.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "data/files/byte_reader.h"
#include "data/images/image_array.h"
#include "data/images/image_dataset.h"
#include "trainer/settings/config.h"
#include "trainer/settings/key.h"
#include "trainer/settings/report_problem.h"

namespace lockstep {

template <>
struct EnumNames<Interpolation> {
  static constexpr std::array<std::string_view, 2> kNames{"bilinear", "bicubic"};
};

template <>
struct EnumNames<OnBadSample> {
  static constexpr std::array<std::string_view, 2> kNames{"error", "skip"};
};

struct ImageSettings {
  std::vector<std::int64_t> image_size = {};  ///< height and width, or one side for both
  Augmentation augmentation = {};
  std::vector<double> normalize_mean = {0.0};  ///< pixels in [0, 1] become (x - mean) / std
  std::vector<double> normalize_std = {1.0};
  SoftLabels soft_labels = {};  ///< of training samples
  bool of_any_size = false;     ///< images may differ in size until they are resized
  std::int64_t max_file_mb = ByteReader::kMaxBytes >> 20;  ///< MiB
  std::int64_t max_pixels = ImageLimits{}.pixels;          ///< of an image that has its own file

  /// Whether samples differ in size from the stored images.
  bool resizes() const { return of_any_size || !image_size.empty() || augmentation.resize > 0; }
  /// Height and width; nothing if image_size is empty.
  std::optional<std::array<std::int64_t, 2>> size() const;
  std::int64_t max_file_bytes() const { return max_file_mb << 20; }
  /// For images that have their own files.
  ImageLimits limits() const {
    if (!of_any_size) return {};
    return {.file_bytes = max_file_bytes(), .pixels = max_pixels};
  }
  /// The shape of samples for a model of images of this [channels, height, width]. Error kUsage if
  /// neither the settings nor the model define a height and a width.
  Shape shape_for(const std::array<std::int64_t, 3>& of_model) const;
  /// Error kUsage for soft labels of a model without classes, and for settings that do not fit the
  /// shape [channels, height, width].
  ImageOptions options(const Shape& shape, std::int64_t classes) const;
};

/// Error kUsage that names `what` and its `channels` unless image files have as many channels.
void check_channels_of_files(std::int64_t channels, std::string_view what);

/// The options for an evaluation, where labels are hard.
ImageOptions for_evaluation(ImageOptions options);

void check_images(const ImageSettings& images, const Config& run, const ReportProblem& report);
/// For datasets that are not split: validation needs its own files.
void check_val_path(bool is_empty, const Config& run, const ReportProblem& report);

/// The training dataset, and the same samples for evaluation.
struct ImagePair {
  DatasetPtr train;
  DatasetPtr evaluation;
};

/// The datasets that a run reads from files which hold many images of one size each.
class ImagesOfFiles {
 public:
  ImagesOfFiles(const ImageSettings& images, std::int64_t classes)
      : settings_(images), classes_(classes) {}

  /// Samples have the requested size, or else that of the first call's images. Error kData if the
  /// images have another number of channels than those, or another size and no resizing is
  /// requested.
  ImagePair datasets(LabelledImages images);

 private:
  const ImageSettings& settings_;
  std::int64_t classes_;
  std::optional<Shape> shape_;
};

/// For datasets that read whole files.
template <class Data>
Key file_size_key() {
  return {.name = "max_file_mb",
          .member = bind<&Data::images, &ImageSettings::max_file_mb>(),
          .range = size_at_least(1),
          .unit = "MiB",
          .doc = "A file that is larger, or inflates to more, is refused before it is read."};
}

/// For datasets of images that have their own files.
template <class Data>
Key max_pixels_key() {
  return {.name = "max_pixels",
          .member = bind<&Data::images, &ImageSettings::max_pixels>(),
          .range = {1, 0x1p40},
          .unit = "pixels",
          .doc =
              "A larger image is refused before it is decoded; decoding needs up to 9 bytes per "
              "pixel."};
}
template <class Data>
Key on_bad_sample_key() {
  return {.name = "on_bad_sample",
          .member = bind<&Data::on_bad_sample>(),
          .doc =
              "Action for an image that cannot be read: error ends the run; skip uses the next "
              "readable one and counts it (SkippedSamples). More than 15 training images in a "
              "row end the run."};
}

template <class Data>
void add_image_keys(std::vector<Key>& to) {
  using Images = ImageSettings;
  constexpr auto kImages = &Data::images;
  constexpr auto kChanges = &Images::augmentation;
  std::vector<Key> keys = {
      {.name = "image_size",
       .member = bind<kImages, &Images::image_size>(),
       .range = size_at_least(1),
       .unit = "pixels",
       .doc = "Height and width of samples, or [side] for both; []: as the model or the file "
              "says.",
       .may_be_empty = true},
      {.name = "resize",
       .member = bind<kImages, kChanges, &Augmentation::resize>(),
       .range = size_at_least(0),
       .unit = "pixels",
       .doc = "Length of the shorter side to which images are resized before the centre crop; 0: "
              "the minimum that covers the crop."},
      {.name = "interpolation",
       .member = bind<kImages, kChanges, &Augmentation::interpolation>(),
       .doc = "How images are resized; both are the same as Pillow's."},
      {.name = "random_resized_crop",
       .member = bind<kImages, kChanges, &Augmentation::random_resized_crop>(),
       .doc = "Train on a random part of each image, as torchvision's RandomResizedCrop draws it."},
      {.name = "crop_scale",
       .member = bind<kImages, kChanges, &Augmentation::crop_scale>(),
       .range = {0, 1, true},
       .doc = "Minimum and maximum part of the area that random_resized_crop takes."},
      {.name = "crop_ratio",
       .member = bind<kImages, kChanges, &Augmentation::crop_ratio>(),
       .range = above(0),
       .doc = "Minimum and maximum width over height that random_resized_crop takes."},
      {.name = "shift",
       .member = bind<kImages, kChanges, &Augmentation::shift>(),
       .range = size_at_least(0),
       .unit = "pixels",
       .doc = "Training images are shifted at random by up to this much in each direction; the gap "
              "is black."},
      {.name = "horizontal_flip",
       .member = bind<kImages, kChanges, &Augmentation::horizontal_flip>(),
       .range = {0, 1},
       .doc = "Probability with which a training image is mirrored."},
      {.name = "normalize_mean",
       .member = bind<kImages, &Images::normalize_mean>(),
       .doc = "Subtracted from pixels, which are first scaled to [0, 1]; one number, or one a "
              "channel."},
      {.name = "normalize_std",
       .member = bind<kImages, &Images::normalize_std>(),
       .range = above(0),
       .doc = "Divides pixels after normalize_mean was subtracted; one number, or one a channel."},
      {.name = "mixup",
       .member = bind<kImages, &Images::soft_labels, &SoftLabels::mixup>(),
       .range = {0, 100},
       .doc = "Training images are mixed with another one of their micro-batch by a weight drawn "
              "from Beta(mixup, mixup), and so are their labels; 0: off."},
      {.name = "label_smoothing",
       .member = bind<kImages, &Images::soft_labels, &SoftLabels::smoothing>(),
       .range = {0, 1, false, true},
       .doc = "Part of a training label that is spread over all classes."}};
  to.insert(to.end(), keys.begin(), keys.end());
}

}  // namespace lockstep
