// Where a model's initial values come from: a Hugging Face folder, or a run or checkpoint of
// lockstep, as one map of tensors by name.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/buffer.h"

namespace lockstep {

/// A tensor that has not been read.
struct SourceTensor {
  Shape shape = {};
  bool is_float = true;  ///< of any width: read as f32
  DType dtype = DType::kF32;
  std::string type_text = {};             ///< as the file has it: "BF16[2,3]", "f32[2,3]"
  std::function<HostTensor()> read = {};  ///< f32 or `dtype`. Error kCheckpoint naming the file
};

struct WeightSource {
  std::string path = {};  ///< of the folder or the checkpoint file
  std::map<std::string, SourceTensor> tensors = {};
  std::string tokenizer_json = {};  ///< that a checkpoint has; "" for none, and for a folder
};

/// Whether `path` is a folder with a config.json: Hugging Face's, not a run's.
bool is_hub_folder(const std::string& path);

/// `path`: a Hugging Face folder, a run, the folder of its checkpoints, or a checkpoint; of several
/// checkpoints the newest that verifies. Error kCheckpoint naming the file.
WeightSource open_weights(const std::string& path);

/// The files that open_weights() reads, and those of a Hugging Face folder that a config takes
/// values from. Empty if one that is required is missing.
std::vector<std::string> weight_source_files(const std::string& path);

}  // namespace lockstep
