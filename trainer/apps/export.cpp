#include "trainer/apps/export.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "checkpoint/folder.h"
#include "checkpoint/safetensors_folder.h"
#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "data/tokenizers/tokenizer.h"
#include "trainer/config/schema.h"
#include "trainer/config/values.h"
#include "trainer/datasets/caption_tokens.h"
#include "trainer/datasets/image_settings.h"
#include "trainer/hub/hub_config.h"
#include "trainer/registry/registry.h"
#include "trainer/run/saved_facts.h"
#include "trainer/run/saved_run.h"
#include "trainer/train/training_state.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// Version of the library whose format these files have.
constexpr const char* kTransformersVersion = "4.46.3";
constexpr const char* kTokenizerConfig = "tokenizer_config.json";
constexpr const char* kGenerationConfig = "generation_config.json";
constexpr const char* kDecoderStart = "decoder_start_token_id";

/// What is exported.
struct ExportSource {
  CheckpointReader checkpoint;
  Config config;
  std::optional<SampleFacts> samples;  ///< if the checkpoint has them
  const ModelRow& model;
  const HubFormat& format;
  TokenizerPtr tokenizer;  ///< null: none
  bool ema = false;        ///< ExportOptions::ema
};

std::string name_in_model(const TensorEntry& entry) {
  const std::string prefix = model_path("");
  return entry.path.starts_with(prefix) ? entry.path.substr(prefix.size()) : "";
}

/// The value of a key as JSON, by way of its YAML text, which is flow style and so nearly JSON.
std::string json_of(const ConfigKey& key, const Config& config) {
  const std::string text = value_text(key, config);
  const Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() ? Json(text).dump() : value.dump();
}

std::string json_of(const std::optional<std::int32_t>& id) {
  return id ? std::to_string(*id) : "null";
}

/// By the names that the data had for its classes, or else numbers.
void add_labels(const ExportSource& source, HubValues& values) {
  const auto count = values.find("num_labels");
  if (count == values.end()) return;
  const SampleFacts facts = source.samples.value_or(SampleFacts{});
  Json names = Json::object();
  Json ids = Json::object();
  for (std::size_t i = 0; i < std::stoul(count->second.json); ++i) {
    const std::string name = i < facts.classes.size() ? facts.classes[i] : made_up_label(i);
    names[std::to_string(i)] = name;
    ids[name] = i;
  }
  values.erase(count);
  values["id2label"] = names.dump();
  values["label2id"] = ids.dump();
}

/// "image_mean" and "image_std" of the run's images, a number each channel.
HubValues image_values(const ExportSource& source, const Registry& registry) {
  const Schema schema(registry);
  const auto channels = static_cast<std::size_t>(registry.needs(source.config.model).image[0]);
  HubValues out;
  const auto add = [&](const char* name, std::string_view path, double none) {
    const ConfigKey* key = schema.find(path, source.config);
    const bool is_there = key != nullptr && key->row != nullptr;
    Json values = is_there ? Json::parse(json_of(*key, source.config)) : Json::array({none});
    if (!values.is_array()) values = Json::array({values});  // a single number
    while (values.size() < channels) values.push_back(values.back());
    out[name] = values.dump();
  };
  add("image_mean", "data.normalize_mean", 0.0);
  add("image_std", "data.normalize_std", 1.0);
  return out;
}

/// How the run's evaluation makes images fit; of data without files, as ImageSettings begins.
ImageSettings image_settings(const ExportSource& source, const Registry& registry) {
  const DataConfig& data = source.config.data;
  const auto* images = registry.at(data).part<ImageSettings>(data.keys);
  return images == nullptr ? ImageSettings{} : *images;
}

/// timm makes the shorter side side / "crop_pct", rounded down, and cuts out the centre, which is
/// as large as what was trained on: a ResNet takes images of any size, whatever its config says.
HubValues timm_image_values(const ExportSource& source, const Registry& registry) {
  HubValues out = image_values(source, registry);
  const ImageSettings images = image_settings(source, registry);
  std::array<std::int64_t, 3> shape = source.samples.value_or(SampleFacts{}).shape;
  if (shape[0] == 0) std::ranges::copy(registry.needs(source.config.model).image, shape.begin());
  out["input_size"] = Json(shape).dump();
  const auto side = static_cast<double>(std::min(shape[1], shape[2]));
  const auto resize = static_cast<double>(images.augmentation.resize);
  double part = resize == 0 ? 1 : side / resize;
  if (resize > 0 && std::floor(side / part) != resize) part = side / (resize + 0.5);
  out["crop_pct"] = Json(part).dump();
  out["interpolation"] = Json(EnumNames<Interpolation>::kNames[static_cast<std::size_t>(
                                  images.augmentation.interpolation)])
                             .dump();
  return out;
}

/// The tokens around a text; those around a caption as it was trained with.
void add_token_ids(const ExportSource& source, const DataNeeds& needs, HubValues& values) {
  const SpecialTokens special = source.tokenizer ? source.tokenizer->special() : SpecialTokens{};
  if (source.format.generates)
    values["bos_token_id"] = json_of(special.bos ? special.bos : special.eos);
  if (needs.inputs == "captioned_images") {
    const CaptionFrame frame =
        source.tokenizer ? caption_frame(needs, *source.tokenizer) : caption_frame(needs);
    values[kDecoderStart] = std::to_string(frame.start);
    values["eos_token_id"] = std::to_string(frame.end);
    values["pad_token_id"] = std::to_string(frame.pad);
    return;
  }
  if (source.format.generates) values["eos_token_id"] = json_of(special.eos);
  if (special.pad) values["pad_token_id"] = json_of(special.pad);
}

HubValues config_values(const ExportSource& source, const Registry& registry) {
  const bool of_timm = source.format.model_type.empty();
  HubValues out;
  if (of_timm && source.format.sees_images) out = timm_image_values(source, registry);
  const Schema schema(registry);
  for (const ConfigKey& key : schema.keys())
    if (key.section == "model" && key.row == &source.model &&
        std::ranges::find(source.format.own_keys, key.name) == source.format.own_keys.end())
      out[key.name] = json_of(key, source.config);
  for (const TensorEntry& entry : source.checkpoint.tensors())
    if (const std::string name = name_in_model(entry);
        !name.empty() && name == source.format.token_embedding)
      out["vocab_size"] = std::to_string(entry.shape[0]);
  out.insert(source.format.written.begin(), source.format.written.end());
  if (of_timm) out["architecture"] = Json(source.format.architectures.front()).dump();
  if (source.format.to_hub != nullptr) source.format.to_hub(out);
  if (of_timm) return out;
  add_labels(source, out);
  add_token_ids(source, registry.needs(source.config.model), out);
  out["architectures"] = Json::array({source.format.architectures.front()}).dump();
  out["model_type"] = Json(source.format.model_type).dump();
  out["torch_dtype"] = Json("float32").dump();
  out["transformers_version"] = Json(kTransformersVersion).dump();
  return out;
}

void write_text(const fs::path& path, const std::string& text) {
  write_file(path.string(), text, ErrorKind::kCheckpoint);
}

/// The tensor that is written as the model's tensor `name`, of which `trained` is the value.
const TensorEntry* value_of(const ExportSource& source, const std::string& name,
                            const TensorEntry& trained) {
  if (!source.ema) return &trained;
  const std::vector<TensorEntry>& all = source.checkpoint.tensors();
  const std::string path = optimizer_path(kAverageSlot, name);
  const auto found = std::ranges::lower_bound(all, path, {}, &TensorEntry::path);
  return found != all.end() && found->path == path ? &*found : &trained;  // not trained: no average
}

void write_weights(const ExportSource& source, const fs::path& path) {
  std::vector<SafetensorsItem> items;
  std::map<std::string, const TensorEntry*> entries;
  for (const TensorEntry& entry : source.checkpoint.tensors()) {
    const std::string name = name_in_model(entry);
    if (name.empty()) continue;
    const std::string theirs = renamed(name, source.format.write);
    const TensorEntry* value = value_of(source, name, entry);
    items.push_back({theirs, entry.dtype, entry.shape});
    entries[theirs] = value;
    for (const HubTied& tied : source.format.tied) {
      if (!tied.written || tied.parameter != name) continue;
      items.push_back({tied.name, entry.dtype, entry.shape});
      entries[tied.name] = value;
    }
  }
  write_safetensors(
      path.string(), std::move(items), {{"format", "pt"}},
      [&](const std::string& name) { return source.checkpoint.read(*entries.at(name)); });
}

void write_tokenizer(const ExportSource& source, const Registry& registry, const fs::path& folder) {
  if (source.tokenizer == nullptr) return;
  write_text(folder / kHubTokenizer, source.tokenizer->serialize());
  Json config{{"tokenizer_class", "PreTrainedTokenizerFast"},
              {"clean_up_tokenization_spaces", false},
              {"model_max_length", registry.needs(source.config.model).sequence_length}};
  const SpecialTokens& special = source.tokenizer->special();
  const auto add = [&](const char* name, const std::optional<std::int32_t>& id) {
    if (id) config[name] = source.tokenizer->token(*id);
  };
  add("unk_token", special.unk);
  add("pad_token", special.pad);
  add("cls_token", special.cls);
  add("sep_token", special.sep);
  add("mask_token", special.mask);
  add("bos_token", special.bos);
  add("eos_token", special.eos);
  write_text(folder / kTokenizerConfig, config.dump(2) + "\n");
}

/// Transformers' ViTImageProcessor makes images a square whatever their sides; CLIPImageProcessor
/// is the one that resizes the shorter side and cuts out the centre, as lockstep does.
void write_preprocessor(const ExportSource& source, const Registry& registry,
                        const fs::path& folder) {
  HubValues values = image_values(source, registry);
  const auto& [channels, height, width] = registry.needs(source.config.model).image;
  const ImageSettings images = image_settings(source, registry);
  for (const char* key : {"do_normalize", "do_rescale", "do_resize"}) values[key] = "true";
  const bool bicubic = images.augmentation.interpolation == Interpolation::kBicubic;
  values["resample"] = bicubic ? "3" : "2";  // as Pillow numbers them
  values["rescale_factor"] = Json(1.0 / 255.0).dump();
  const std::string size = images.resizes() ? "crop_size" : "size";
  values[size + ".height"] = std::to_string(height);
  values[size + ".width"] = std::to_string(width);
  if (images.resizes()) {
    const std::int64_t resize = images.augmentation.resize;
    values["size.shortest_edge"] = std::to_string(resize > 0 ? resize : std::max(height, width));
    values["do_center_crop"] = "true";
    values["do_convert_rgb"] = channels == 3 ? "true" : "false";
  }
  values["image_processor_type"] =
      Json(images.resizes() ? "CLIPImageProcessor" : "ViTImageProcessor").dump();
  write_text(folder / kHubPreprocessor, hub_config_text(values));
}

void write_files(const ExportSource& source, const Registry& registry, const fs::path& folder) {
  write_weights(source, folder / kWeightsFile);
  write_tokenizer(source, registry, folder);
  if (source.format.sees_images && !source.format.model_type.empty())
    write_preprocessor(source, registry, folder);
  const HubValues values = config_values(source, registry);
  if (source.format.generates) {
    HubValues generation{{"_from_model_config", "true"}};
    for (const char* key :
         {"bos_token_id", kDecoderStart, "eos_token_id", "pad_token_id", "transformers_version"})
      if (const auto found = values.find(key); found != values.end() && found->second != "null")
        generation.insert(*found);
    write_text(folder / kGenerationConfig, hub_config_text(generation));
  }
  write_text(folder / kHubConfig, hub_config_text(values));
}

/// A temporary folder beside the requested one; its contents are removed in the end.
class FolderBeside {
 public:
  explicit FolderBeside(const fs::path& target)
      : path_(target.parent_path() /
              fmt::format(".{}.{}.tmp", target.filename().string(), ::getpid())) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~FolderBeside() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  FolderBeside(const FolderBeside&) = delete;
  FolderBeside& operator=(const FolderBeside&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void check_target(const fs::path& target, bool force) {
  std::error_code error;
  if (!fs::exists(target, error)) return;
  LS_USER_CHECK(fs::is_directory(target, error), "{}: exists and is not a folder", target.string());
  LS_USER_CHECK(
      force || fs::is_empty(target, error),
      "{}: the folder is not empty; choose another one, or replace the model in it with --force",
      target.string());
}

/// Old files that a reader would use, or that contradict the new files.
bool is_of_a_model(const std::string& name) {
  return name == kWeightsIndex || name == kHubTokenizer || name == kTokenizerConfig ||
         name == kGenerationConfig || name == kHubPreprocessor ||
         (name.starts_with("model-") && name.ends_with(".safetensors"));
}

/// Keeps the files of the replaced folder that do not belong to the model. Hard links, so that
/// nothing is copied; copies on a file system without them.
void keep_other_files(const fs::path& old, const fs::path& fresh) {
  constexpr auto kWhole = fs::copy_options::recursive | fs::copy_options::copy_symlinks;
  for (const auto& entry : fs::directory_iterator(old)) {
    const fs::path name = entry.path().filename(), to = fresh / name;
    if (fs::exists(to) || is_of_a_model(name.string())) continue;
    std::error_code error;
    fs::copy(entry.path(), to, kWhole | fs::copy_options::create_hard_links, error);
    if (error) fs::copy(entry.path(), to, kWhole | fs::copy_options::overwrite_existing);
  }
}

/// At every instant the old folder or the new one is whole at `target`; on a file system that
/// cannot exchange two folders, neither is there for a moment, and both are beside it.
void replace_folder(const fs::path& fresh, const fs::path& target) {
  keep_other_files(target, fresh);
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) return;
  const std::error_code error(errno, std::generic_category());
  if (error != std::errc::invalid_argument && error != std::errc::function_not_supported)
    throw fs::filesystem_error("", target, error);
  const fs::path old = fresh.string() + ".old";
  fs::rename(target, old);
  fs::rename(fresh, target);
  fs::remove_all(old);
}

void move_into_place(const fs::path& from, const fs::path& target) {
  sync_folder(from.string(), ErrorKind::kCheckpoint);
  if (!fs::exists(target) || fs::is_empty(target)) {
    fs::rename(from, target);
  } else {
    replace_folder(from, target);
  }
  sync_folder(target.parent_path().string(), ErrorKind::kCheckpoint);
}

}  // namespace

std::string export_run(const ExportOptions& options, const Registry& registry) {
  std::error_code error;
  const fs::path given = fs::absolute(options.to).lexically_normal();
  const fs::path real = fs::weakly_canonical(given, error);  // follows symbolic links
  const fs::path& target = error ? given : real;
  const fs::path place = target.has_filename() ? target : target.parent_path();
  check_target(place, options.force);
  CheckpointReader checkpoint =
      SavedRun(options.run).open_checkpoint(options.best ? SavedState::kBest : SavedState::kNewest);
  if (options.ema) require_averages(checkpoint.path(), checkpoint.tensors());
  const SavedFacts facts = facts_of(checkpoint, registry);
  const ModelRow& model = registry.at(facts.config.model);
  LS_USER_CHECK(model.hub.has_value(), "{}: model '{}' has no Hugging Face format",
                checkpoint.path(), model.name);
  const ExportSource source{std::move(checkpoint), facts.config, facts.samples, model, *model.hub,
                            facts.tokenizer,       options.ema};
  try {
    const FolderBeside beside(place);
    write_files(source, registry, beside.path());
    move_into_place(beside.path(), place);
  } catch (const fs::filesystem_error& e) {
    raise(ErrorKind::kCheckpoint, "cannot write {}: {}", place.string(), e.code().message());
  } catch (const Error& e) {  // names the temporary folder
    if (e.kind() != ErrorKind::kCheckpoint) throw;
    raise(ErrorKind::kCheckpoint, "cannot export to {}: {}", place.string(), e.what());
  }
  const bool of_timm = source.format.model_type.empty();
  return fmt::format("{} of step {} is in {}: {} ({})\n", source.checkpoint.path(),
                     source.checkpoint.trainer().step, options.to,
                     of_timm ? source.model.name : source.format.architectures.front(),
                     of_timm ? "timm" : source.format.model_type);
}

}  // namespace lockstep
