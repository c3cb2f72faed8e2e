// The JSON files of a Hugging Face folder: config.json, preprocessor_config.json, and the index of
// sharded weights.
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "checkpoint/safetensors_folder.h"
#include "tests/campaigns/fuzz/target.h"
#include "trainer/config/load.h"
#include "trainer/hub/hub_config.h"
#include "trainer/registry/registry.h"

namespace lockstep::fuzz {
namespace {

namespace fs = std::filesystem;

/// A folder with files, for as long as it lives.
class Folder {
 public:
  Folder() : path_((fs::temp_directory_path() / "ls-fuzz-XXXXXX").string()) {
    LS_CHECK(mkdtemp(path_.data()) != nullptr, "no temporary folder");
  }
  ~Folder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(fs::path(path_) / name, std::ios::binary) << bytes;
  }

 private:
  std::string path_;
};

std::vector<std::string> hub_configs() {
  return {R"({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_layer": 2, "n_head": 2,
"n_embd": 8, "n_inner": null, "n_positions": 64, "vocab_size": 50, "activation_function": "gelu_new",
"layer_norm_epsilon": 1e-05, "attn_pdrop": 0.1, "scale_attn_weights": true, "summary_type": "x",
"task_specific_params": {"text-generation": {"do_sample": true}, "a": [1, {"b": 2}]}})",
          R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 8,
"intermediate_size": 12, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
"head_dim": 2, "hidden_act": "silu", "rms_norm_eps": 1e-06, "rope_theta": 500000.0,
"rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
"high_freq_factor": 4.0, "original_max_position_embeddings": 32}, "rope_parameters": {"rope_theta": 5},
"tie_word_embeddings": false, "vocab_size": 50, "max_position_embeddings": 64})",
          R"({"architectures": ["BertForMaskedLM"], "model_type": "bert", "hidden_size": 8,
"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 12, "hidden_act": "gelu",
"type_vocab_size": 2, "vocab_size": 50, "max_position_embeddings": 64, "is_decoder": false})",
          R"({"architectures": ["BertForSequenceClassification"], "model_type": "bert",
"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 12,
"hidden_dropout_prob": 0.1, "classifier_dropout": null, "id2label": {"0": "no", "1": "yes"},
"vocab_size": 50, "max_position_embeddings": 64})",
          R"({"architectures": ["ViTForImageClassification"], "model_type": "vit", "hidden_size": 8,
"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 12, "image_size": [16, 16],
"patch_size": 8, "num_channels": 3, "id2label": {"0": "no", "1": "yes"}})",
          R"({"architecture": "resnet18", "num_classes": 2, "global_pool": "avg", "model_args":
{"channels": [8, 16, 32, 64], "in_chans": 3, "block_args": {}}, "pretrained_cfg": {"input_size":
[3, 32, 32], "mean": [0.5, 0.5, 0.5], "std": [0.2, 0.2, 0.2]}})"};
}

std::vector<std::string> preprocessors() {
  return {R"({"do_normalize": true, "do_rescale": true, "do_resize": true, "rescale_factor":
0.00392156862745098, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.4, 0.3],
"size": {"height": 224, "width": 224}, "image_processor_type": "ViTImageProcessor"})",
          R"({"image_mean": 0.5, "image_std": null, "rescale_factor": 1, "do_normalize": false})"};
}

void run_preprocessor(const std::string& input) {
  const Folder folder;
  folder.write(kHubPreprocessor, input);
  (void)read_preprocessor(folder.path());
}

/// The model that a config.json, even a broken one, seems to be of.
std::string model_of(const std::string& json) {
  if (json.find("llama") != std::string::npos) return "llama";
  if (json.find("gpt2") != std::string::npos) return "gpt2";
  if (json.find("resnet") != std::string::npos) return "resnet";
  if (json.find("vit") != std::string::npos) return "vit";
  return json.find("id2label") != std::string::npos ? "bert_classifier" : "bert";
}

void run_hub_config(const std::string& input) {
  const Folder folder;
  folder.write(kHubConfig, input);
  folder.write("fuzz.yaml", fmt::format(R"(model: {{name: {}, from_pretrained: {}}}
data: {{type: synthetic}}
training: {{global_batch_size: 4, micro_batch_size: 4, max_steps: 1}}
optimizer: {{learning_rate: 0.1}}
)",
                                        model_of(input), folder.path()));
  load_config(folder.path() + "/fuzz.yaml", built_in());
}

/// A shard with one number.
std::string shard_with(const std::string& tensor) {
  const std::string header =
      fmt::format(R"({{"{}":{{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}}})", tensor);
  const std::uint64_t length = header.size();
  std::string out(sizeof length, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  return out + header + std::string(4, '\0');
}

std::vector<std::string> weight_indices() {
  return {R"({"metadata": {"total_size": 8}, "weight_map": {"a": "1.safetensors",
"b": "2.safetensors"}})",
          R"({"weight_map": {"a": "1.safetensors"}})", R"({"weight_map": {}})"};
}

void run_weight_index(const std::string& input) {
  const Folder folder;
  folder.write("1.safetensors", shard_with("a"));
  folder.write("2.safetensors", shard_with("b"));
  folder.write(kWeightsIndex, input);
  const SafetensorsFolder weights(folder.path());
  for (const auto& [name, tensor] : weights.tensors()) (void)tensor.file->read_f32(*tensor.entry);
}

}  // namespace

std::vector<Target> hub_targets() {
  return {{.name = "hub_config",
           .refusal = ErrorKind::kUsage,
           .seeds = hub_configs,
           .words = {"{",
                     "}",
                     "[",
                     "]",
                     ",",
                     ": ",
                     "null",
                     "true",
                     "\"\"",
                     "-1",
                     "1e999",
                     "0",
                     "\"model_type\"",
                     "\"default\"",
                     "\"linear\"",
                     "\"rope_scaling\"",
                     "\"num_labels\": 3,",
                     "{}",
                     "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
                     std::string_view("\0", 1),
                     "\xef\xbb\xbf",
                     "NaN",
                     "\\ud800",
                     "\\u0000",
                     "99999999999999999999"},
           .run = run_hub_config,
           .place = "fuzz.yaml"},
          {.name = "preprocessor",
           .refusal = ErrorKind::kUsage,
           .seeds = preprocessors,
           .words = {"{}", "[]", ",", ": ", "null", "true", "\"\"", "-1", "1e999", "0", "NaN",
                     "\"rescale_factor\"", "\"image_mean\"", std::string_view("\0", 1)},
           .run = run_preprocessor,
           .place = "ls-fuzz-"},
          {.name = "weight_index",
           .refusal = ErrorKind::kCheckpoint,
           .seeds = weight_indices,
           .words = {"{", "}", "[", "]", ",", ": ", "null", "\"\"", "..", "/", ".", "\\u0000",
                     "\\ud800", "1.safetensors", "2.safetensors", "\"a\"", "\"weight_map\""},
           .run = run_weight_index,
           .place = "ls-fuzz-"}};
}

}  // namespace lockstep::fuzz
