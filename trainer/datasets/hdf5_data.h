// Labelled images in two data sets of an HDF5 file.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/hdf5_reader.h"
#include "trainer/datasets/image_settings.h"
#include "trainer/settings/config.h"
#include "trainer/settings/key.h"
#include "trainer/settings/report_problem.h"
#include "trainer/task/data_source.h"

namespace lockstep {

/// The position of the channels in an array of four dimensions.
enum class ImageLayout : std::uint8_t { kChannelsFirst, kChannelsLast };

template <>
struct EnumNames<ImageLayout> {
  static constexpr std::array<std::string_view, 2> kNames{"channels_first", "channels_last"};
};

/// Images u8 [n,height,width], or of four dimensions as the layout says; labels u8, i32 or i64 [n].
/// Read as checkpoint/hdf5_reader.h says: a hostile file is refused.
struct Hdf5Data {
  static constexpr std::string_view kName = "hdf5";
  static constexpr std::string_view kDoc = "images and labels in data sets of an HDF5 file";
  static constexpr std::string_view kGives = "images";

  std::string path = "";
  std::string val_path = "";
  std::string image_dataset = "images";
  std::string label_dataset = "labels";
  ImageLayout layout = ImageLayout::kChannelsFirst;
  double max_gb = kHdf5Gigabytes;
  ImageSettings images = {};

  static std::vector<Key> keys();
  void check(const Config& run, const ReportProblem& report) const;
  const ImageSettings& part() const { return images; }
  DataSource open(const OpenContext& context) const;
};

}  // namespace lockstep
