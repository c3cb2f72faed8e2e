// How sure a prediction is, and how measured steps correct it.
//
// The logarithm of a time is predicted with a Gaussian error: that of the constants, and a residual
// of which two steps share the more the more alike they are. So what measured steps were off by
// says what another one will be off by (kriging; equations 2.25 and 2.26 of Rasmussen and Williams,
// Gaussian Processes for Machine Learning, 2006). docs/design/cost_model.md.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/cost/residual_spread.h"
#include "core/cost/step_time.h"

namespace lockstep {

/// A prediction with what its error depends on.
struct ForeseenTime {
  double seconds = 0;
  std::vector<double> slopes;  ///< of its logarithm, by the logarithm of each constant
  StepTraits traits;
};
ForeseenTime foreseen_time(const StepWork& work, const DeviceProfile& device,
                           const Deployment& deployment, const FittedConstants& fitted);
/// The same of a time that is several steps' in one; `traits` are of it.
ForeseenTime foreseen_time(const std::function<double(const CostConstants&)>& seconds,
                           const StepTraits& traits, const FittedConstants& fitted);

/// A step that was measured, on the device of those that it corrects.
struct GivenStep {
  ForeseenTime foreseen;
  double seconds = 0;
};

/// The corrected prediction is `factor` times the other one, and 80 % of published times are to lie
/// within `interval` times it and it / `interval`.
struct Correction {
  double factor = 1;
  double interval = 1;
};

/// Without given steps the factor is 1.
Correction correct(const ForeseenTime& asked, std::span<const GivenStep> given,
                   const FittedConstants& fitted);

}  // namespace lockstep
