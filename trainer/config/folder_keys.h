// A run that starts from another run or from a Hugging Face folder takes the keys of its config
// that the run's own config does not give.
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
  /// Of keys that were given: "config instead of FOLDER/config.json: model.n_layer is 6, not 12".
  std::vector<std::string> overruled;
  std::vector<std::string> problems;  ///< values that are invalid for the model's keys
};

/// What a config takes weights from: a Hugging Face folder, a run or a checkpoint.
struct WeightFolder {
  std::string key;  ///< that names it: "model.init_from", "model.encoder.from_pretrained"
  std::string path;
  std::string
      part;  ///< of the model that it is for, as its parameters' names begin: "encoder."; "": all
  HubFormat format;
};

/// The folders that the config names.
std::vector<WeightFolder> weight_folders(const Schema& schema, const Config& config);
/// Whether it may have a tokenizer: not for a part that sees images.
bool brings_texts(const WeightFolder& folder);
/// Names none.
void clear_weight_folders(const Schema& schema, Config& config);

/// Sets the keys of the model, or of its part, that are in FOLDER/config.json, or in the config of
/// the run if it trained the same model or one of its family, and for which `is_given` is false.
/// FOLDER/tokenizer.json, or the run's tokenizer, is the tokenizer unless one is given, or the data
/// is tokens already, whose tokenizer is beside them. Image data takes data.normalize_mean and
/// normalize_std in the same way. Error kUsage as read_hub_config(), and for a part and a run of a
/// model of another family; kCheckpoint as open_checkpoint().
FolderKeys take_folder_keys(const Schema& schema, const WeightFolder& folder,
                            const std::function<bool(std::string_view path)>& is_given,
                            Config& config);

/// For a resumed run: takes the saved keys of its model, its tokenizer and the scaling of its
/// images, except those that the config gives now. Reads no folder.
void take_saved_keys(const Config& saved, const LoadedConfig& given, const Registry& registry,
                     Config& config);

}  // namespace lockstep
