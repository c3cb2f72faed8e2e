// Labelled images in two IDX files, such as MNIST (data/images/idx.h).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "trainer/datasets/image_settings.h"
#include "trainer/settings/config.h"
#include "trainer/settings/key.h"
#include "trainer/settings/report_problem.h"
#include "trainer/task/data_source.h"

namespace lockstep {

struct IdxData {
  static constexpr std::string_view kName = "idx";
  static constexpr std::string_view kDoc = "IDX images and labels, .gz too";
  static constexpr std::string_view kGives = "images";

  std::vector<std::string> path = {};  ///< one file, also in the other three lists
  std::vector<std::string> labels = {};
  std::vector<std::string> val_path = {};
  std::vector<std::string> val_labels = {};
  std::optional<IndexRange> train_range = {};  ///< nothing: all samples of path
  std::optional<IndexRange> val_range = {};    ///< of val_path, or of path when that is empty
  ImageSettings images = {};

  static std::vector<Key> keys();
  void check(const Config& run, const ReportProblem& report) const;
  const ImageSettings& part() const { return images; }
  DataSource open(const OpenContext& context) const;
};

}  // namespace lockstep
