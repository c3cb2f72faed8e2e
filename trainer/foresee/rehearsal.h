// What unequal devices and failures cost a job, by simulation of all its devices
// (core/virtual_time/many_ranks.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainer/foresee/foresee.h"

namespace lockstep {

/// The questions of the command line.
struct RehearsalOptions {
  std::vector<std::string> disturbances = {};         ///< --simulate, see disturbance_words.h
  std::optional<double> hours_between_failures = {};  ///< mean, of one device
  double save_seconds = 0;                            ///< that a save takes from training
  double restart_seconds = 0;                         ///< from a failure to training on
};

/// Steps with these disturbances.
struct DisturbedSteps {
  std::int64_t steps = 0;  ///< that were simulated
  double mean_s = 0, least_s = 0, most_s = 0;
};

/// How often to save, by Young's and Daly's first order (Young, CACM 17, 1974; Daly, FGCS 22,
/// 2006).
struct SavePlan {
  std::int64_t interval = 0;          ///< steps
  double hours_between_failures = 0;  ///< of the job
  /// The share of the time in which steps are trained that are kept.
  double goodput = 0;
};

struct Rehearsal {
  std::optional<DisturbedSteps> disturbed;
  std::optional<SavePlan> saves;
};

/// Error kUsage for disturbances that are not understood, and for divided weights, of which the
/// event rule knows nothing.
Rehearsal rehearse(const Foresight& foresight, std::uint64_t seed, const RehearsalOptions& options);

}  // namespace lockstep
