// A run that starts from a Hugging Face folder takes the keys from its config.json that the run's
// own config does not give.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/config/load.h"
#include "trainer/config/schema.h"

namespace lockstep {

/// The result of reading a config.json.
struct FolderKeys {
  std::vector<std::string> overruled;  ///< "model.n_layer is 6, not 12": of keys that were given
  std::vector<std::string> problems;   ///< values that are invalid for the model's keys
};

/// Sets the keys of the model that are in FOLDER/config.json and for which `is_given` is false;
/// FOLDER is model.from_pretrained. FOLDER/tokenizer.json is the tokenizer unless one is given, or
/// the data is tokens already, whose tokenizer is beside them. Image data takes data.normalize_mean
/// and normalize_std from the folder in the same way. Error kUsage as read_hub_config().
FolderKeys take_folder_keys(const Schema& schema,
                            const std::function<bool(std::string_view path)>& is_given,
                            Config& config);

/// For a resumed run: takes the saved keys of its model, its tokenizer and the scaling of its
/// images, except those that the config gives now. Reads no folder.
void take_saved_keys(const Config& saved, const LoadedConfig& given, const Registry& registry,
                     Config& config);

}  // namespace lockstep
