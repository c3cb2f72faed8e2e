// The config.json of a Hugging Face folder.
#pragma once

#include <string>
#include <vector>

#include "trainer/hub/hub_format.h"

namespace lockstep {

inline constexpr const char* kHubConfig = "config.json";
inline constexpr const char* kHubTokenizer = "tokenizer.json";
inline constexpr const char* kHubPreprocessor = "preprocessor_config.json";

/// Those files of a model's folder that a run reads: config.json, the weights, tokenizer.json and
/// preprocessor_config.json if they are there. Empty if the folder lacks one that it must have.
std::vector<std::string> hub_files(const std::string& folder);

/// The values of FOLDER/config.json for a model of this format, as from_hub() has them; null ones
/// are left out, as the hub's library means them. Error kUsage naming file, line and column if it
/// cannot be read (core/base/json_tree.h says what is JSON), or is of another model type, or,
/// `strict`, of another architecture, or asks for what the model does not compute: all of it at
/// once. Whether a value is one for the key of its name is for the caller to find. `model` is what
/// messages call the model.
HubValues read_hub_config(const std::string& folder, const HubFormat& format,
                          const std::string& model, bool strict);

/// How a folder says that images are scaled: "image_mean" and "image_std" as JSON lists, of pixels
/// from 0 to 1 whatever it rescales them by; nothing where it has no preprocessor_config.json.
/// Error kUsage naming file, line and column for one that is no JSON object, or rescales by no
/// number above 0.
HubValues read_preprocessor(const std::string& folder);

/// The values as the library's own config.json: sorted, indented, with a last newline.
std::string hub_config_text(const HubValues& values);

}  // namespace lockstep
