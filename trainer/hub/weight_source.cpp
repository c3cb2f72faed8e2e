#include "trainer/hub/weight_source.h"

#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "checkpoint/restore.h"
#include "checkpoint/safetensors_folder.h"
#include "core/base/error.h"
#include "trainer/hub/hub_config.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

WeightSource from_hub_folder(const std::string& path) {
  WeightSource out{.path = path};
  const auto folder = std::make_shared<const SafetensorsFolder>(path);
  for (const auto& [name, tensor] : folder->tensors()) {
    const SafetensorsEntry& entry = *tensor.entry;
    SourceTensor found{.shape = entry.shape,
                       .is_float = lockstep::is_float(entry.type),
                       .type_text = entry.type_text()};
    // The types that are no lockstep type are read as i32.
    for (const DType dtype : {DType::kBool, DType::kU8, DType::kI32, DType::kI64})
      if (safetensors_type(dtype) == entry.type) found.dtype = dtype;
    found.read = [folder, tensor, is_float = found.is_float] {
      return is_float ? tensor.file->read_f32(*tensor.entry) : tensor.file->read(*tensor.entry);
    };
    out.tensors.emplace(name, std::move(found));
  }
  return out;
}

WeightSource from_checkpoint(const std::string& path) {
  const auto file = std::make_shared<const CheckpointReader>(open_checkpoint(path));
  WeightSource out{.path = file->path()};
  out.tokenizer_json = file->trainer().tokenizer;
  const std::string model = model_path("");
  for (const TensorEntry& entry : file->tensors()) {
    if (!entry.path.starts_with(model)) continue;
    const Type type{entry.dtype, entry.shape};
    out.tensors.emplace(entry.path.substr(model.size()),
                        SourceTensor{.shape = entry.shape,
                                     .is_float = entry.dtype == DType::kF32,
                                     .dtype = entry.dtype,
                                     .type_text = type.to_string(),
                                     .read = [file, entry] { return file->read(entry); }});
  }
  return out;
}

}  // namespace

bool is_hub_folder(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::path(path) / kHubConfig, error);
}

WeightSource open_weights(const std::string& path) {
  return is_hub_folder(path) ? from_hub_folder(path) : from_checkpoint(path);
}

std::vector<std::string> weight_source_files(const std::string& path) {
  if (is_hub_folder(path)) return hub_files(path);
  try {
    return {open_checkpoint(path).path()};
  } catch (const Error&) {
    return {};
  }
}

}  // namespace lockstep
