#include "trainer/datasets/image_folder_data.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "core/base/error.h"
#include "data/images/image_folder.h"

namespace lockstep {
namespace {

std::vector<std::string> files_of_folder(const std::string& path, const void* /*settings*/) {
  return image_files(path);
}

}  // namespace

std::vector<Key> ImageFolderData::keys() {
  std::vector<Key> out = {{.name = "path",
                           .member = bind<&ImageFolderData::path>(),
                           .doc = "Folder to train on, with a folder of images for each class.",
                           .required = true,
                           .per_rank = true,
                           .file = true,
                           .files_in = files_of_folder},
                          {.name = "val_path",
                           .member = bind<&ImageFolderData::val_path>(),
                           .doc = "Folder to validate on, with folders of the same names.",
                           .may_be_empty = true,
                           .per_rank = true,
                           .file = true,
                           .files_in = files_of_folder},
                          on_bad_sample_key<ImageFolderData>(),
                          max_pixels_key<ImageFolderData>(),
                          file_size_key<ImageFolderData>()};
  add_image_keys<ImageFolderData>(out);
  return out;
}

void ImageFolderData::check(const Config& run, const ReportProblem& report) const {
  check_images(images, run, report);
  check_val_path(val_path.empty(), run, report);
}

DataSource ImageFolderData::open(const OpenContext& context) const {
  const Shape shape = images.shape_for(context.needs.image);
  check_channels_of_files(shape[0], "the model");
  ImageOptions options = images.options(shape, context.needs.n_classes);
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
