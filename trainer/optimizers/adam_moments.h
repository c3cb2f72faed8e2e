// The moments of Adam, on which several update rules stand: Kingma and Ba, "Adam: a method for
// stochastic optimization", ICLR 2015; arithmetic in the order of PyTorch's.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/trace/elementwise.h"
#include "core/trace/ops.h"

namespace lockstep {

/// Running means of the gradient and of its square.
struct AdamMoments {
  Tensor first, second;

  /// What `first` is divided by: sqrt(second) / sqrt_correction2 + eps.
  Tensor denominator(const Tensor& sqrt_correction2, double eps) const;
};

/// The names of the two as slots, in order.
std::vector<std::string> adam_slots();

/// The moments after a gradient; `slots` has those before it.
AdamMoments next_moments(const Tensor& gradient, std::span<const Tensor> slots,
                         const std::array<double, 2>& betas);

/// What corrects the start of the moments at zero in 0-based `step`.
struct BiasCorrections {
  BiasCorrections(const std::array<double, 2>& betas, std::int64_t step);
  double first;        ///< 1 - beta1^(step + 1)
  double sqrt_second;  ///< sqrt(1 - beta2^(step + 1))
};

}  // namespace lockstep
