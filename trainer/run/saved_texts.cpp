#include "trainer/run/saved_texts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/json_place.h"
#include "data/files/printable.h"
#include "data/files/utf8.h"
#include "data/images/raster.h"
#include "data/tokenizers/tokenizer.h"
#include "trainer/config/load.h"

namespace lockstep {
namespace {

/// Maximum size of images in a checkpoint.
constexpr std::int64_t kMaxPixels = 178'956'970;

// Returns the result of `read`; its errors become errors of the checkpoint.
template <class Read>
auto of_checkpoint(Read read) {
  try {
    return read();
  } catch (const Error& error) {
    throw Error(ErrorKind::kCheckpoint, error.what());
  }
}

/// Names of folders are bytes; names that are not text are stored in JSON as they are printed.
std::string as_text(const std::string& name) {
  return end_of_utf8(name, 0) == name.size() ? name : printable(name);
}

}  // namespace

Config saved_config(const std::string& yaml, const std::string& path, const Registry& registry) {
  if (yaml.starts_with(kOfAProgram))
    raise(ErrorKind::kCheckpoint,
          "{}: saved by a program with its own model; only that program can evaluate it; lockstep "
          "ckpt can read it",
          path);
  for (const MissingRow& missing : find_missing_rows(yaml, registry))
    raise(ErrorKind::kCheckpoint,
          "{}: was saved by a program with the {} '{}', which this one does not have (it has {}); "
          "use that program, or register the {} (Registry::add_{})",
          path, missing.what, missing.name, fmt::join(missing.registered, ", "), missing.what,
          missing.what);
  Config out = of_checkpoint(
      [&] { return parse_config(yaml, path + ": the saved config", registry).config; });
  out.model.init_from.clear();  // its weights are in the checkpoint
  return out;
}

TokenizerPtr saved_tokenizer(const std::string& json, const std::string& path) {
  if (json.empty()) return nullptr;
  return of_checkpoint([&] { return tokenizer_from_json(json, path + ": the saved tokenizer"); });
}

std::string sample_facts_of(const DataSource& data) {
  const std::vector<FieldSpec> fields = data.train->fields();
  const auto image = std::ranges::find(fields, "image", &FieldSpec::name);
  const bool has_images = image != fields.end() && image->shape.rank() == 3;
  if (!has_images && data.classes.empty()) return "";
  std::vector<std::string> classes;
  classes.reserve(data.classes.size());
  for (const std::string& name : data.classes) classes.push_back(as_text(name));
  nlohmann::json out = {{"classes", classes}};
  if (has_images) out["image"] = {image->shape[0], image->shape[1], image->shape[2]};
  return out.dump();
}

std::optional<SampleFacts> saved_sample_facts(const std::string& json, const std::string& path) {
  if (json.empty()) return std::nullopt;
  try {
    const nlohmann::json parsed =
        nlohmann::json::parse(JsonPlace::parse(json, JsonSource{.name = path, .line = 0}).dump());
    SampleFacts out;
    parsed.at("classes").get_to(out.classes);
    if (!parsed.contains("image")) return out;
    parsed.at("image").get_to(out.shape);
    const auto& [channels, height, width] = out.shape;
    for (const std::int64_t size : out.shape)
      if (size < 1 || size > kMaxPixels)
        throw std::out_of_range(fmt::format("images of size {}", size));
    if (channels > kMaxPixels / height / width)
      throw std::out_of_range(fmt::format("images [{}, {}, {}]", channels, height, width));
    return out;
  } catch (const std::exception& problem) {
    raise(ErrorKind::kCheckpoint, "{}: the saved description of its samples cannot be read: {}",
          path, problem.what());
  }
}

void check_saved_classes(const std::optional<SampleFacts>& saved, const std::string& path,
                         const DataSource& data) {
  if (!saved) return;
  const std::vector<std::string>& classes = saved->classes;
  for (std::size_t i = 0; i < std::min(classes.size(), data.classes.size()); ++i)
    if (const std::string now = as_text(data.classes[i]); now != classes[i])
      raise(ErrorKind::kData,
            "{}: class {} is '{}', but '{}' in {}; give the folders their previous names, or start "
            "a new run",
            data.train->describe(), i, printable(now), printable(classes[i]), path);
}

}  // namespace lockstep
