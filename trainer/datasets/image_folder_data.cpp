#include "trainer/datasets/image_folder_data.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "core/base/error.h"
#include "data/images/image_folder.h"

namespace lockstep {

std::vector<Key> ImageFolderData::keys() {
  std::vector<Key> out = {{.name = "path",
                           .member = bind<&ImageFolderData::path>(),
                           .doc = "Folder to train on, with a folder of images for each class.",
                           .required = true,
                           .per_rank = true,
                           .file = true,
                           .files_in = image_files},
                          {.name = "val_path",
                           .member = bind<&ImageFolderData::val_path>(),
                           .doc = "Folder to validate on, with folders of the same names.",
                           .may_be_empty = true,
                           .per_rank = true,
                           .file = true,
                           .files_in = image_files},
                          {.name = "on_bad_sample",
                           .member = bind<&ImageFolderData::on_bad_sample>(),
                           .doc = "Action for an image that cannot be read: error ends the run; "
                                  "skip uses the next readable one and counts it (SkippedSamples). "
                                  "More than 15 training images in a row end the run."},
                          {.name = "max_pixels",
                           .member = bind<&ImageFolderData::images, &ImageSettings::max_pixels>(),
                           .range = {1, 0x1p40},
                           .unit = "pixels",
                           .doc = "A larger image is refused before it is decoded; decoding needs "
                                  "up to 9 bytes per pixel."},
                          file_size_key<ImageFolderData>()};
  add_image_keys<ImageFolderData>(out);
  return out;
}

void ImageFolderData::check(const Config& run, const ReportProblem& report) const {
  check_images(images, run, report);
  check_val_path(val_path.empty(), run, report);
}

DataSource ImageFolderData::open(const OpenContext& context) const {
  const auto& [channels, height, width] = context.needs.image;
  const auto size = images.size().value_or(std::array{height, width});
  // A model that takes any height and width declares a height of 1.
  LS_USER_CHECK(!images.image_size.empty() || height > 1,
                "data.image_size must be given: the model does not define a height and a width");
  check_channels_of_files(channels, "the model");
  ImageOptions options = images.options({channels, size[0], size[1]}, context.needs.n_classes);
  options.on_bad_sample = on_bad_sample;
  const ImageLimits limits = images.limits();
  const auto folder = std::make_shared<ImageFolder>(path, std::vector<std::string>{}, limits);
  const auto classes = static_cast<std::int64_t>(folder->classes().size());
  LS_USER_CHECK(classes <= options.classes,
                "{} has {} folders of classes, but the model is for {} classes", path, classes,
                options.classes);
  DataSource out{.train = std::make_shared<ImageDataset>(folder, options),
                 .classes = folder->classes(),
                 .warnings = folder->left_out()};
  if (!val_path.empty()) {
    const auto validation = std::make_shared<ImageFolder>(val_path, folder->classes(), limits);
    std::ranges::copy(validation->left_out(), std::back_inserter(out.warnings));
    out.validation = std::make_shared<ImageDataset>(validation, for_evaluation(options));
  }
  return out;
}

}  // namespace lockstep
