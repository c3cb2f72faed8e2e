// The time of products, convolutions among them, on a device: tiles on its units, and the traffic
// of their operands.
#pragma once

#include "core/cost/cost_constants.h"
#include "core/cost/device_profile.h"
#include "core/cost/kernel_work.h"
#include "core/cost/step_time.h"

namespace lockstep {

/// A time, and what of it the data sheet alone gives.
struct KernelTime {
  double seconds = 0;
  double data_sheet = 0;
};

/// Figures of a device that many kernels share, in SI units.
class DeviceRates {
 public:
  DeviceRates(const DeviceProfile& device, const Deployment& deployment,
              const CostConstants& constants);

  /// All `count` of a dot or a convolution.
  KernelTime product(const KernelWork& work) const;
  /// All `count` of an attention; with scores in memory if the deployment says so.
  KernelTime attention(const KernelWork& work) const;
  /// Elementwise work on so many bytes.
  KernelTime streaming(double bytes) const;

 private:
  const Deployment& deployment_;
  const CostConstants& constants_;
  double peak_ = 0;       ///< FLOP/s
  double bandwidth_ = 0;  ///< bytes a second
  double units_ = 0;
  bool tensor_ = false;
  double product_fraction_ = 0;
  double memory_fraction_ = 0;
};

}  // namespace lockstep
