// Labelled images in a folder for each class (data/images/image_folder.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trainer/datasets/image_settings.h"
#include "trainer/settings/config.h"
#include "trainer/settings/key.h"
#include "trainer/settings/report_problem.h"
#include "trainer/task/data_source.h"

namespace lockstep {

struct ImageFolderData {
  static constexpr std::string_view kName = "image_folder";
  static constexpr std::string_view kDoc = "PNG and JPEG images in a folder for each class";
  static constexpr std::string_view kGives = "images";

  std::string path = "";
  std::string val_path = "";
  OnBadSample on_bad_sample = OnBadSample::kError;
  ImageSettings images = {.of_any_size = true, .max_file_mb = ImageLimits{}.file_bytes >> 20};

  static std::vector<Key> keys();
  void check(const Config& run, const ReportProblem& report) const;
  const ImageSettings& part() const { return images; }
  DataSource open(const OpenContext& context) const;
};

}  // namespace lockstep
