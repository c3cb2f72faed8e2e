// Captions of images by a run's model.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/engine/engine.h"
#include "data/tokenizers/tokenizer.h"
#include "trainer/apps/restored_model.h"
#include "trainer/run/saved_facts.h"
#include "trainer/task/data_needs.h"

namespace lockstep {

/// The tokens that a caption begins with: the start token and those of `prompt`. Error kUsage if
/// neither model nor tokenizer have a start token.
std::vector<std::int32_t> caption_prompt(const DataNeeds& needs, const Tokenizer& tokenizer,
                                         const std::string& prompt);

/// Prints "FILE: caption" for each image and sample, in batches of images, which are resized and
/// scaled as in the run's evaluation. A caption ends with the model's end token, or where its
/// positions end. Errors kData name a file that cannot be read.
void print_captions(Engine& engine, const RestoredModel& restored, const Registry& registry,
                    const SavedFacts& facts, const SampleConfig& sample,
                    const std::vector<std::int32_t>& prompt,
                    const std::vector<std::string>& images);

}  // namespace lockstep
