// A run that starts from a Hugging Face folder takes from its config.json what the run's own config
// leaves open.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/config/load.h"
#include "trainer/config/schema.h"

namespace lockstep {

/// What came of a config.json.
struct FolderKeys {
  std::vector<std::string> overruled;  ///< "model.n_layer is 6, not 12": of those that were given
  std::vector<std::string> problems;   ///< values that are none for the model's keys
};

/// Sets the keys of the model that FOLDER/config.json has and `is_given` denies; FOLDER is
/// model.from_pretrained. FOLDER/tokenizer.json is the tokenizer unless one is given, or the data
/// is tokens already, whose tokenizer stands beside them. Data of images takes data.normalize_mean
/// and normalize_std from the folder likewise. Error kUsage as read_hub_config().
FolderKeys take_folder_keys(const Schema& schema,
                            const std::function<bool(std::string_view path)>& is_given,
                            Config& config);

/// Of a run that goes on: the keys of its model, its tokenizer, and how its images are scaled, as
/// they were saved, but for those that the config gives now. No folder is read.
void take_saved_keys(const Config& saved, const LoadedConfig& given, const Registry& registry,
                     Config& config);

}  // namespace lockstep
