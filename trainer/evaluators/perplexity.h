// Perplexity: exp of the mean loss per token, a standard metric of language models.
#pragma once

#include <string_view>

#include "trainer/task/metrics.h"

namespace lockstep {

struct Perplexity final : Evaluator {
  static constexpr std::string_view kName = "perplexity";
  static constexpr std::string_view kDoc = "e to the loss";
  static constexpr bool kLargerIsBetter = false;
  MetricValues combine(std::span<const std::string> partials,
                       const MetricValues& values) const override;
};

}  // namespace lockstep
