// A run's model as a Hugging Face folder, which `from_pretrained` of the transformers library, and
// model.from_pretrained here, read.
#pragma once

#include <string>

namespace lockstep {

class Registry;

struct ExportOptions {
  std::string run;     ///< a run's folder, whose newest good checkpoint is taken, or a checkpoint
  std::string to;      ///< the folder
  bool best = false;   ///< of a run: the checkpoint with the best metric
  bool force = false;  ///< replaces these files in a folder that is not empty; others stay
};

/// Writes config.json, model.safetensors, what a tokenizer needs, and generation_config.json of a
/// model that generates: the whole folder at once, or, with `force`, each file, config.json last.
/// Returns what was done, a line. Error kCheckpoint for what cannot be read or written; kUsage for
/// a model that has no such form, or a folder with something in it.
std::string export_run(const ExportOptions& options, const Registry& registry);

}  // namespace lockstep
