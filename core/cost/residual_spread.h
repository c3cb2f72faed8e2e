// How far published times are from predicted ones beyond the uncertainty of the constants, and how
// much of that two steps share. bench/foresight/fit.py estimates it; none of it is set by hand.
#pragma once

#include <array>

#include "core/cost/device_profile.h"

namespace lockstep {

struct StepWork;
struct Deployment;

/// What the residual of a step depends on.
struct StepTraits {
  double parameters = 0;  ///< of the model
  double flops = 0;       ///< of dots, convolutions and attention, of one micro-batch
  double devices = 1;
  MathType math = MathType::kFp32;
  Execution execution = Execution::kCompiled;
  bool ordinary_units = false;  ///< on which it multiplies: not those for products
  bool other_kind = false;      ///< the device is of a kind of which no row was fitted: no GPU
  bool stand_in = false;        ///< the work is not the model's own, but another's in proportion
};
StepTraits traits_of(const StepWork& work, const DeviceProfile& device,
                     const Deployment& deployment);

/// The residual is log(published / predicted). Its standard deviation is the exponential of a sum.
struct ResidualSpread {
  double whole = 0;
  std::array<double, kExecutions> execution = {};
  double work = 0;  ///< for each factor of ten over 1e13 FLOPs of a micro-batch
  double stand_in = 0;
  double ordinary_units = 0;
  double other_kind = 0;

  double alone = 0;            ///< share of the variance that no other step has in common
  double other_math = 0;       ///< correlation of steps of two types of products, all else the same
  double other_execution = 0;  ///< the same of two kinds of execution
  /// By how much the logarithms of two steps' parameters, devices and FLOPs of a micro-batch differ
  /// when the correlation has fallen to 1 / e.
  double parameters_length = 1;
  double devices_length = 1;
  double work_length = 1;

  double deviation(const StepTraits& a) const;
  /// Of two steps on one device.
  double covariance(const StepTraits& a, const StepTraits& b) const;
};

}  // namespace lockstep
