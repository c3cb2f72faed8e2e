// What a run does about steps whose loss, gradients or parameters are not finite: it ends, or
// leaves out the update and goes on until too many were left out (training.on_nonfinite,
// training.max_skipped_steps).
#pragma once

#include <string>

#include "trainer/optimizers/optimizer_step.h"
#include "trainer/settings/config.h"
#include "trainer/settings/setting_name.h"
#include "trainer/train/skip_limit.h"

namespace lockstep {

/// The texts are for messages that begin with the step; empty: nothing to tell.
struct NonFiniteVerdict {
  std::string warning = {};
  std::string end = {};  ///< why the run ends
  /// Whether the message of the end should name the first value of the step that is not finite.
  bool names_value = false;
};

/// Every rank reads the same numbers, and so gets the same verdicts.
class NonFinitePolicy {
 public:
  /// `of`: for messages.
  explicit NonFinitePolicy(const TrainingConfig& config, SettingsOf of = SettingsOf::kConfig);

  /// UpdateOptions::stop_at_nonfinite.
  bool stops() const { return stops_; }
  /// Adds the next finished step.
  NonFiniteVerdict add(const StepSummary& step);

 private:
  bool stops_;
  std::int64_t max_skipped_steps_;
  SettingsOf of_;
  SkipLimit limit_;
};

}  // namespace lockstep
