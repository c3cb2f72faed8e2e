// The time of products, convolutions among them, on a device: tiles on its units, and the traffic
// of their operands.
#pragma once

#include "core/cost/cost_constants.h"
#include "core/cost/device_profile.h"
#include "core/cost/kernel_work.h"
#include "core/cost/step_time.h"

namespace lockstep {

/// A time, what of it figures of the data sheet alone give, and what of it rests on figures that
/// the profile marks as estimates; the rest is fitted.
struct KernelTime {
  double seconds = 0;
  double data_sheet = 0;
  double assumed = 0;

  /// Of a kernel: at the peak of the device's units, or of its memory.
  double limit() const { return data_sheet + assumed; }
};
inline KernelTime operator*(double times, const KernelTime& time) {
  return {times * time.seconds, times * time.data_sheet, times * time.assumed};
}
inline KernelTime operator+(const KernelTime& a, const KernelTime& b) {
  return {a.seconds + b.seconds, a.data_sheet + b.data_sheet, a.assumed + b.assumed};
}

/// Figures of a device that many kernels share, in SI units.
class DeviceRates {
 public:
  DeviceRates(const DeviceProfile& device, const Deployment& deployment,
              const CostConstants& constants);

  /// All `count` of either kind.
  KernelTime heavy(const KernelWork& work) const {
    return work.kind == KernelKind::kAttention ? attention(work) : product(work);
  }
  /// All `count` of a dot or a convolution.
  KernelTime product(const KernelWork& work) const;
  /// All `count` of an attention; with scores in memory if the deployment says so.
  KernelTime attention(const KernelWork& work) const;
  /// Elementwise work on so many bytes.
  KernelTime streaming(double bytes) const;

 private:
  /// The time, of which so much is ideal: at the peak of arithmetic or memory.
  KernelTime with_ideal(double seconds, double ideal) const;

  const Deployment& deployment_;
  const CostConstants& constants_;
  double peak_ = 0;       ///< FLOP/s
  double bandwidth_ = 0;  ///< bytes a second
  double units_ = 0;
  bool estimated_ = false;  ///< the peak or the bandwidth
  bool tensor_ = false;
  double product_fraction_ = 0;
  double memory_fraction_ = 0;
};

}  // namespace lockstep
