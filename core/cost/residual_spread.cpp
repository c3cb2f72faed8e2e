#include "core/cost/residual_spread.h"

#include <cmath>

#include "core/cost/step_time.h"

namespace lockstep {
namespace {

double apart(double a, double b) {
  return std::abs(std::log(a / b));
}

}  // namespace

StepTraits traits_of(const StepWork& work, const DeviceProfile& device,
                     const Deployment& deployment) {
  StepTraits out;
  out.parameters = work.parameters;
  for (const KernelWork& each : work.heavy)
    out.flops += each.flops * static_cast<double>(each.count);
  out.devices = deployment.devices;
  out.math = deployment.math;
  out.execution = deployment.execution;
  out.other_kind = device.kind != DeviceKind::kGpu;
  out.ordinary_units = !device.has_tensor_units(deployment.math);
  return out;
}

double ResidualSpread::deviation(const StepTraits& a) const {
  constexpr double kUsualWork = 1e13;
  return std::exp(whole + execution[static_cast<std::size_t>(a.execution)] +
                  work * std::log10(a.flops / kUsualWork) + (a.stand_in ? stand_in : 0) +
                  (a.ordinary_units ? ordinary_units : 0) + (a.other_kind ? other_kind : 0));
}

double ResidualSpread::covariance(const StepTraits& a, const StepTraits& b) const {
  const double alike =
      (a.math == b.math ? 1 : other_math) * (a.execution == b.execution ? 1 : other_execution);
  const double distance = apart(a.parameters, b.parameters) / parameters_length +
                          apart(a.devices, b.devices) / devices_length +
                          apart(a.flops, b.flops) / work_length;
  return (1 - alone) * alike * std::exp(-distance) * deviation(a) * deviation(b);
}

}  // namespace lockstep
