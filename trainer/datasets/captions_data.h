// Images with captions in files (data/captions/caption_file.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trainer/datasets/image_settings.h"
#include "trainer/datasets/on_too_long.h"
#include "trainer/settings/config.h"
#include "trainer/settings/key.h"
#include "trainer/settings/report_problem.h"
#include "trainer/task/data_source.h"

namespace lockstep {

struct CaptionsData {
  static constexpr std::string_view kName = "captions";
  static constexpr std::string_view kDoc = "PNG and JPEG images with captions, JSON Lines or COCO";
  static constexpr std::string_view kGives = "captioned_images";
  static constexpr bool kVaries = true;

  std::string path = "";
  std::string image_folder = "";  ///< "": the folder of `path`
  std::string val_path = "";
  std::string val_image_folder = "";
  OnTooLong on_too_long = OnTooLong::kError;
  OnBadSample on_bad_sample = OnBadSample::kError;
  ImageSettings images = {.of_any_size = true, .max_file_mb = ImageLimits{}.file_bytes >> 20};

  static std::vector<Key> keys();
  void check(const Config& run, const ReportProblem& report) const;
  const ImageSettings& part() const { return images; }
  /// Training samples are images with a caption drawn anew in every epoch; validation has a sample
  /// for every caption.
  DataSource open(const OpenContext& context) const;
};

}  // namespace lockstep
