// From measured training steps to factors on lower bounds, by class of work.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/runtime/step_cost.h"
#include "trainer/statistics/rank_profile.h"

namespace lockstep {

/// A training step that was measured: means over its ranks, in proportion as in the quickest step.
struct MeasuredStep {
  std::string model;
  std::shared_ptr<const CompiledStep> step;
  StepPlacement placement;
  double seconds = 0;
  std::array<double, kWorkClassCount> work{};  ///< of it, commands by class
  double sums = 0;                             ///< of it, gradients are added

  double commands() const;
};

/// From the ledgers of all ranks of a run. Error kInternal without measured steps.
MeasuredStep measured_step(std::span<const RankProfile> profiles, std::string model,
                           std::shared_ptr<const CompiledStep> step,
                           const StepPlacement& placement);

/// The rates with which step_cost() meets the measured steps best. A class counts by its time: what
/// takes longer in a step matters more. `limits` are of the machine; their own rates are not read.
StepRates fit_step_rates(std::span<const MeasuredStep> steps, MachineLimits limits);

}  // namespace lockstep
