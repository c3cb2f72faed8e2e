// What a checkpoint says of the run that saved it, read and checked: errors are kCheckpoint and
// name the file, see saved_texts.h.
#pragma once

#include <optional>

#include "checkpoint/file_format.h"
#include "data/tokenizers/tokenizer.h"
#include "trainer/run/saved_texts.h"
#include "trainer/run/shared_checkpoint.h"
#include "trainer/settings/config.h"

namespace lockstep {

class Registry;

/// Of the data: all that a run of another config takes over, as one that resumes.
struct SavedData {
  TokenizerPtr tokenizer;            ///< null: the run has none
  std::optional<ImageFacts> images;  ///< nothing: no images, or saved by an early lockstep
};
SavedData data_of(const SharedCheckpoint& saved);

struct SavedFacts : SavedData {
  Config config;  ///< that it was trained with
};
SavedFacts facts_of(const SharedCheckpoint& saved, const Registry& registry);
SavedFacts facts_of(const CheckpointReader& saved, const Registry& registry);

}  // namespace lockstep
