#include "trainer/optimizers/adam_moments.h"

#include <cmath>

namespace lockstep {

Tensor AdamMoments::denominator(const Tensor& sqrt_correction2, double eps) const {
  return sqrt(second) / sqrt_correction2 + eps;
}

std::vector<std::string> adam_slots() {
  return {"exp_avg", "exp_avg_sq"};
}

AdamMoments next_moments(const Tensor& gradient, std::span<const Tensor> slots,
                         const std::array<double, 2>& betas) {
  const double beta1 = betas[0];
  const double beta2 = betas[1];
  const Tensor m = slots[0] * beta1 + gradient * (1.0 - beta1);
  const Tensor v = slots[1] * beta2 + gradient * gradient * (1.0 - beta2);
  return {m, v};
}

BiasCorrections::BiasCorrections(const std::array<double, 2>& betas, std::int64_t step)
    : first(1.0 - std::pow(betas[0], static_cast<double>(step + 1))),
      sqrt_second(std::sqrt(1.0 - std::pow(betas[1], static_cast<double>(step + 1)))) {}

}  // namespace lockstep
