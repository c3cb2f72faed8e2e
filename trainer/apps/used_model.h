// A model that a command uses without training it: that of a run, or of a Hugging Face folder.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/base/activity.h"
#include "trainer/apps/restored_model.h"
#include "trainer/run/saved_facts.h"
#include "trainer/run/saved_run.h"

namespace lockstep {

class Communicator;
class Registry;

/// Which weights --ema asks for.
SavedWeights weights_of(bool ema);

struct UsedModel {
  /// Collective. `path`: as SavedRun has it, or a Hugging Face folder, whose config is what
  /// config.json says, and `overrides` ("data.type=jsonl"), which a run does not take. Error kUsage
  /// for a folder that no model of the registry reads; else as SavedRun::share_checkpoint().
  static UsedModel open(const std::string& path, const Registry& registry,
                        Communicator& communicator, Activity activity,
                        SavedState which = SavedState::kNewest,
                        std::span<const std::string> overrides = {});

  /// Collective. The model with its values; `vocab_size` as RestoredModel has it. Error kUsage for
  /// averages of a folder, which has none.
  RestoredModel restore(const Registry& registry, std::int64_t vocab_size, RankRuntime& runtime,
                        SavedWeights which = SavedWeights::kTrained) const;

  std::string tokenizer_json() const;
  std::int64_t step() const { return checkpoint ? checkpoint->trainer().step : 0; }

  std::string path;  ///< of the checkpoint, or the folder
  SavedFacts facts;
  std::optional<SharedCheckpoint> checkpoint = {};  ///< nothing: a Hugging Face folder
};

}  // namespace lockstep
