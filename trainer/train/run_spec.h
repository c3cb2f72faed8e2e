// The description of a run, besides its model and optimizer.
#pragma once

#include <optional>
#include <string>

#include "trainer/run/run_folder.h"
#include "trainer/settings/setting_name.h"
#include "trainer/train/evaluate.h"
#include "trainer/train/trainer_options.h"
#include "trainer/train/training_state.h"

namespace lockstep {

struct RunSpec {
  TrainerOptions options;                        ///< early_stopping.mode is not kAuto
  SettingsOf settings_of = SettingsOf::kConfig;  ///< for messages
  std::optional<RunFolder> folder = {};  ///< of options.run; nothing: the run leaves no files
  std::string config_text = {};          ///< saved in checkpoints and <run>/config.yaml
  std::string tokenizer = {};            ///< serialized, saved in checkpoints
  std::string samples = {};       ///< their description (saved_texts.h), saved in checkpoints
  bool same_data = false;         ///< the ranks' data was compared in full
  MoreMetrics more_metrics = {};  ///< of evaluations named "eval", see EvaluateOptions::more
  GivenValues values = {};        ///< initial values of a new run in place of drawn ones

  /// How to continue the run, for messages.
  std::string how_to_resume() const { return resume_setting(settings_of); }
};

}  // namespace lockstep
