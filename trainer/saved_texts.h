// The texts in a checkpoint that its reader hands on unread: config and tokenizer. What cannot be
// made of them is the checkpoint's fault, not that of a config or a data file.
#pragma once

#include <string>
#include <string_view>

#include "trainer/config/config.h"

namespace lockstep {

class Registry;

/// How the text begins that a program without a config leaves in its checkpoints in place of one.
inline constexpr std::string_view kOfAProgram = "program:\n";

/// The config that the checkpoint file `path` was saved with. Error kCheckpoint naming the file and
/// the line, or the model, dataset or optimizer that the registry lacks: another program trained
/// it.
Config saved_config(const std::string& yaml, const std::string& path, const Registry& registry);

/// Error kCheckpoint naming the checkpoint file `path` unless `json` is a tokenizer or empty.
void check_saved_tokenizer(const std::string& json, const std::string& path);

}  // namespace lockstep
