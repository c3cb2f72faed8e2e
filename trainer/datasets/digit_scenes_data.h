// Scenes of digits from IDX files with captions that describe them (data/captions/digit_scene.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/datasets/image_settings.h"
#include "trainer/settings/config.h"
#include "trainer/settings/key.h"
#include "trainer/settings/report_problem.h"
#include "trainer/task/data_source.h"

namespace lockstep {

/// Scenes to train on are new in every epoch, those to validate on are the same, and show other
/// digits. Without a tokenizer, words are tokens (scene_tokenizer()).
struct DigitScenesData {
  static constexpr std::string_view kName = "digit_scenes";
  static constexpr std::string_view kDoc = "scenes of IDX digits with captions";
  static constexpr std::string_view kGives = "captioned_images";
  static constexpr bool kVaries = true;

  std::vector<std::string> path = {};  ///< one file, also in the other three lists
  std::vector<std::string> labels = {};
  std::vector<std::string> val_path = {};
  std::vector<std::string> val_labels = {};
  std::optional<IndexRange> train_range = {};  ///< nothing: all samples of path
  std::optional<IndexRange> val_range = {};    ///< of val_path, or of path when that is empty
  double val_fraction = 0.1;                   ///< of the samples trained on, without the other two
  std::int64_t num_samples = 10000;
  std::int64_t val_samples = 1000;
  std::int64_t digit_px = 20;
  ImageSettings images = {};

  static std::vector<Key> keys();
  void check(const Config& run, const ReportProblem& report) const;
  const ImageSettings& part() const { return images; }
  DataSource open(const OpenContext& context) const;
};

}  // namespace lockstep
