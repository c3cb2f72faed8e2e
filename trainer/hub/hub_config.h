// The config.json of a Hugging Face folder.
#pragma once

#include <string>
#include <vector>

#include "trainer/hub/hub_format.h"

namespace lockstep {

inline constexpr const char* kHubConfig = "config.json";
inline constexpr const char* kHubTokenizer = "tokenizer.json";
inline constexpr const char* kHubPreprocessor = "preprocessor_config.json";

/// The files of a model's folder that a run reads: config.json, the weights, and tokenizer.json and
/// preprocessor_config.json if they exist. Empty if a required file is missing.
std::vector<std::string> hub_files(const std::string& folder);

/// The values of FOLDER/config.json for a model of this format, after from_hub(); null values are
/// left out, as in the hub's library. Error kUsage naming file, line and column, with all problems
/// at once, if it cannot be read (core/base/json_tree.h defines the JSON), is of another model
/// type, is of another architecture (only if `strict`), or requests something that the model does
/// not compute. The caller checks whether a value is valid for its key. Messages call the model
/// `model`.
HubValues read_hub_config(const std::string& folder, const HubFormat& format,
                          const std::string& model, bool strict);

/// The names of its labels from 0 on, of "id2label"; none if there are none, or only those that the
/// hub's library makes up (LABEL_0, ...). Error kUsage naming file, line and column for a damaged
/// one.
std::vector<std::string> hub_classes(const std::string& folder);

/// How a folder scales images: "image_mean" and "image_std" as JSON lists, for pixels from 0 to 1,
/// whatever rescale factor it has; nothing if it has no preprocessor_config.json. Error kUsage
/// naming file, line and column if that is not a JSON object, or its rescale factor is not a number
/// above 0.
HubValues read_preprocessor(const std::string& folder);

/// The name that the hub's library gives to a label without one: LABEL_0, ...
std::string made_up_label(std::size_t number);

/// The values as the library's own config.json: sorted, indented, with a last newline.
std::string hub_config_text(const HubValues& values);

}  // namespace lockstep
