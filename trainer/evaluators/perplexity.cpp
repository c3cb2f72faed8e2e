#include "trainer/evaluators/perplexity.h"

#include <cmath>

namespace lockstep {

MetricValues Perplexity::combine(std::span<const std::string> /*partials*/,
                                 const MetricValues& values) const {
  const auto loss = values.find("loss");
  if (loss == values.end()) return {};
  return {{"perplexity", std::exp(loss->second)}};
}

}  // namespace lockstep
