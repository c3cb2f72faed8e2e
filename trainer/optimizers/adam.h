// Adam: Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015, as PyTorch's
// torch.optim.Adam: weight decay is added to the gradient (L2 regularization), on matrices only.
#pragma once

#include <array>
#include <string_view>

#include "core/base/api.h"
#include "trainer/optimizers/optimizer.h"
#include "trainer/settings/key.h"

namespace LOCKSTEP_API lockstep {

struct Adam {
  static constexpr std::string_view kName = "adam";
  static constexpr std::string_view kDoc = "Adam, with weight decay as a part of the gradient";

  double learning_rate = 1e-3;  ///< peak
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.0;

  static std::vector<Key> keys();
  std::vector<std::string> slots() const;
  std::vector<Tensor> scalars(TraceContext& context, std::int64_t step, double rate) const;
  std::vector<Tensor> update(const Parameter& parameter, const Tensor& gradient,
                             std::span<const Tensor> slots, std::span<const Tensor> scalars) const;
};

}  // namespace lockstep
