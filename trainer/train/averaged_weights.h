// Evaluations of a run that averages its weights (training.ema) use the averages.
#pragma once

#include <vector>

#include "trainer/train/training_state.h"

namespace lockstep {

/// While alive, the trained parameters of the module have the averages as their values, and no
/// copies in the compute dtype: evaluations convert them. Does nothing for a state without
/// averages.
class AveragedWeights {
 public:
  /// `state` must outlive it. No step may be recorded meanwhile.
  explicit AveragedWeights(TrainingState& state);
  ~AveragedWeights();
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;

 private:
  void exchange();

  TrainingState& state_;
  std::vector<Tensor> copies_;  ///< of the trained parameters
};

}  // namespace lockstep
