// The weights of a Hugging Face folder: model.safetensors, or shards (model-00001-of-00002
// .safetensors, ...) with model.safetensors.index.json, whose weight_map maps tensors to shards.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/safetensors.h"

namespace lockstep {

inline constexpr const char* kWeightsFile = "model.safetensors";
inline constexpr const char* kWeightsIndex = "model.safetensors.index.json";

/// The files with weights in a folder, the index first if there is one. Error kCheckpoint if there
/// are none, or the index is invalid or names a file outside of the folder.
std::vector<std::string> weight_files(const std::string& folder);

class SafetensorsFolder {
 public:
  /// Opens and checks all files. Error kCheckpoint, with all problems at once: shards that are
  /// missing, tensors of the index that its shard lacks, tensors of a shard that the index lacks or
  /// maps to another shard, and tensors that two shards have.
  explicit SafetensorsFolder(const std::string& folder);

  struct Tensor {
    const SafetensorsFile* file;
    const SafetensorsEntry* entry;
  };

  const std::string& path() const { return path_; }
  /// In the order of their names' bytes.
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }

 private:
  void check_index(const std::map<std::string, std::string>& weight_map) const;

  std::string path_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace lockstep
