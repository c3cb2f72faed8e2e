// Exports a run's model as a Hugging Face folder. `from_pretrained` of the transformers library and
// model.init_from of lockstep read it.
#pragma once

#include <string>

namespace lockstep {

class Registry;

struct ExportOptions {
  std::string run;     ///< a run's folder, whose newest good checkpoint is used, or a checkpoint
  std::string to;      ///< the folder
  bool best = false;   ///< of a run: the checkpoint with the best metric
  bool ema = false;    ///< the averaged weights, not the trained ones
  bool force = false;  ///< replaces these files in a folder that is not empty; other files stay
};

/// Writes config.json, model.safetensors, the tokenizer's files, and generation_config.json of a
/// model that generates: the whole folder at once, or, with `force`, file by file, config.json
/// last. Returns one line that says what was done. Error kCheckpoint if something cannot be read or
/// written; kUsage for a model that has no such form, or a folder that is not empty.
std::string export_run(const ExportOptions& options, const Registry& registry);

}  // namespace lockstep
