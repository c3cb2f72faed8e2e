#include "trainer/train/averaged_weights.h"

#include <utility>

namespace lockstep {

AveragedWeights::AveragedWeights(TrainingState& state)
    : state_(state), copies_(state.averages().size()) {
  exchange();
}

AveragedWeights::~AveragedWeights() {
  exchange();
}

void AveragedWeights::exchange() {
  const std::span<Tensor> averages = state_.averages();
  for (std::size_t i = 0; i < averages.size(); ++i) {
    std::swap(state_.trained[i]->value, averages[i]);
    std::swap(state_.trained[i]->copy, copies_[i]);
  }
}

}  // namespace lockstep
