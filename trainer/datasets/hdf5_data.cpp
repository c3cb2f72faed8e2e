#include "trainer/datasets/hdf5_data.h"

#include <span>
#include <utility>

#include "core/base/error.h"
#include "core/base/posix_file.h"

namespace lockstep {
namespace {

std::vector<std::int32_t> labels_of(const HostTensor& tensor, const std::string& place) {
  const auto narrow = [&](auto values) {
    std::vector<std::int32_t> out;
    for (const auto value : values) {
      if (!std::in_range<std::int32_t>(value))
        raise(ErrorKind::kData, "{}: label {} of image {} is not the number of a class", place,
              value, out.size());
      out.push_back(static_cast<std::int32_t>(value));
    }
    return out;
  };
  if (tensor.dtype() == DType::kU8) return narrow(tensor.as<const std::uint8_t>());
  if (tensor.dtype() == DType::kI32) return narrow(tensor.as<const std::int32_t>());
  if (tensor.dtype() == DType::kI64) return narrow(tensor.as<const std::int64_t>());
  raise(ErrorKind::kData, "{}: labels must be u8, i32 or i64, not {}", place,
        name_of(tensor.dtype()));
}

/// [n,h,w,c] as [n,c,h,w].
std::vector<std::uint8_t> channels_first(std::span<const std::uint8_t> pixels, std::size_t plane,
                                         std::size_t channels) {
  std::vector<std::uint8_t> out(pixels.size());
  const std::size_t image = plane * channels;
  for (std::size_t i = 0; i < pixels.size(); ++i)
    out[i / image * image + i % channels * plane + i % image / channels] = pixels[i];
  return out;
}

LabelledImages read_images(const std::string& path, const Hdf5Data& data) {
  const PosixFile file = PosixFile::open(path, ErrorKind::kData);
  Hdf5Reader hdf5(file, {.gigabytes = data.max_gb, .changed_by = "data.max_gb"});
  const std::string place = path + ": /" + data.image_dataset;
  const std::string label_place = path + ": /" + data.label_dataset;
  const TensorInfo info = hdf5.info("/" + data.image_dataset);
  const int rank = info.shape.rank();
  if (info.dtype != DType::kU8 || (rank != 3 && rank != 4) || info.shape.elements() == 0)
    raise(ErrorKind::kData, "{}: images must be u8 of 3 or 4 dimensions, not {} {}", place,
          name_of(info.dtype), info.shape.to_string());
  const HostTensor images = hdf5.read("/" + data.image_dataset);
  const HostTensor labels = hdf5.read("/" + data.label_dataset);
  if (labels.shape().rank() != 1 || labels.shape()[0] != info.shape[0])
    raise(ErrorKind::kData, "{} has {} images, but /{} has labels {}", place, info.shape[0],
          data.label_dataset, labels.shape().to_string());
  const auto pixels = images.as<const std::uint8_t>();
  const bool last = rank == 4 && data.layout == ImageLayout::kChannelsLast;
  const std::int64_t channels = rank == 3 ? 1 : info.shape[last ? 3 : 1];
  const int height = rank == 3 || last ? 1 : 2;
  LabelledImages out{.source = path,
                     .shape = Shape{channels, info.shape[height], info.shape[height + 1]},
                     .pixels = {pixels.begin(), pixels.end()},
                     .labels = labels_of(labels, label_place),
                     .label_source = label_place};
  if (last)
    out.pixels = channels_first(pixels, static_cast<std::size_t>(out.shape[1] * out.shape[2]),
                                static_cast<std::size_t>(channels));
  return out;
}

}  // namespace

std::vector<Key> Hdf5Data::keys() {
  std::vector<Key> out = {{.name = "path",
                           .member = bind<&Hdf5Data::path>(),
                           .doc = "HDF5 file to train on.",
                           .required = true,
                           .per_rank = true,
                           .file = true},
                          {.name = "val_path",
                           .member = bind<&Hdf5Data::val_path>(),
                           .doc = "HDF5 file to validate on, with data sets of the same names.",
                           .may_be_empty = true,
                           .per_rank = true,
                           .file = true},
                          {.name = "image_dataset",
                           .member = bind<&Hdf5Data::image_dataset>(),
                           .doc = "Name of the data set of images, u8 of 3 or 4 dimensions."},
                          {.name = "label_dataset",
                           .member = bind<&Hdf5Data::label_dataset>(),
                           .doc = "Name of the data set of labels, u8, i32 or i64."},
                          {.name = "layout",
                           .member = bind<&Hdf5Data::layout>(),
                           .doc = "Position of the channels in images of four dimensions: after "
                                  "the number of the image, or last."},
                          {.name = "max_gb",
                           .member = bind<&Hdf5Data::max_gb>(),
                           .range = above(0),
                           .unit = "GiB",
                           .doc = "Maximum size of the images and labels of a file, which are held "
                                  "in memory; a larger file is refused before it is read."}};
  add_image_keys<Hdf5Data>(out);
  return out;
}

void Hdf5Data::check(const Config& run, const ReportProblem& report) const {
  check_images(images, run, report);
  check_val_path(val_path.empty(), run, report);
}

DataSource Hdf5Data::open(const OpenContext& context) const {
  ImagesOfFiles files(images, context.needs.n_classes);
  DataSource out{.train = files.datasets(read_images(path, *this)).train};
  if (!val_path.empty()) out.validation = files.datasets(read_images(val_path, *this)).evaluation;
  return out;
}

}  // namespace lockstep
