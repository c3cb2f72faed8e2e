// What a checkpoint says of the run that saved it, read and checked: errors are kCheckpoint and
// name the file, see saved_texts.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/file_format.h"
#include "data/tokenizers/tokenizer.h"
#include "trainer/run/saved_texts.h"
#include "trainer/run/shared_checkpoint.h"
#include "trainer/settings/config.h"
#include "trainer/task/data_needs.h"

namespace lockstep {

class Registry;

/// Of the data: all that a run of another config takes over, as one that resumes.
struct SavedData {
  TokenizerPtr tokenizer;  ///< null: the run has none
  /// Nothing: neither images nor names of labels, or saved by an early lockstep.
  std::optional<SampleFacts> samples;
};
SavedData data_of(const SharedCheckpoint& saved);

/// The names of the labels of a model for labelled texts that was saved; empty for other models. An
/// early lockstep saved none: labels were integers from 0 on.
std::vector<std::string> text_classes(const SavedData& saved, const DataNeeds& needs);

struct SavedFacts : SavedData {
  Config config;  ///< that it was trained with
};
SavedFacts facts_of(const SharedCheckpoint& saved, const Registry& registry);
SavedFacts facts_of(const CheckpointReader& saved, const Registry& registry);

}  // namespace lockstep
