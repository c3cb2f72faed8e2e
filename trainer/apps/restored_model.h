// A model with the values of a run's checkpoint, for the commands that do not train it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "trainer/registry/registry.h"
#include "trainer/run/shared_checkpoint.h"
#include "trainer/train/training_state.h"

namespace lockstep {

class RankRuntime;

/// The model, its parameters and buffers, and copies of them in the compute dtype; the optimizer's
/// slots have no values.
struct RestoredModel {
  /// Collective. `vocab_size`: of the run's data, 0 if it has no tokens. Error kCheckpoint if the
  /// checkpoint does not fit the model, kUsage if it has no such weights.
  RestoredModel(const Config& config, const Registry& registry, std::int64_t vocab_size,
                RankRuntime& runtime, const SharedCheckpoint& saved,
                SavedWeights which = SavedWeights::kTrained);
  /// The same with the values of a Hugging Face folder. Error kCheckpoint likewise.
  RestoredModel(const Config& config, const Registry& registry, std::int64_t vocab_size,
                RankRuntime& runtime, const std::string& hub_folder);

  std::unique_ptr<Model> model;
  TrainingState state;
};

}  // namespace lockstep
