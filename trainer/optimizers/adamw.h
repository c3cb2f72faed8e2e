// AdamW: Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019; arithmetic in
// the order of PyTorch's. Decay applies to matrices only.
#pragma once

#include <array>
#include <string_view>

#include "core/base/api.h"
#include "trainer/optimizers/optimizer.h"
#include "trainer/settings/key.h"

namespace LOCKSTEP_API lockstep {

struct AdamW {
  static constexpr std::string_view kName = "adamw";
  static constexpr std::string_view kDoc = "Adam with decoupled weight decay";

  double learning_rate = 1e-3;  ///< peak
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.01;

  static std::vector<Key> keys();
  std::vector<std::string> slots() const;
  std::vector<Tensor> scalars(TraceContext& context, std::int64_t step, double rate) const;
  std::vector<Tensor> update(const Parameter& parameter, const Tensor& gradient,
                             std::span<const Tensor> slots, std::span<const Tensor> scalars) const;
};

}  // namespace lockstep
