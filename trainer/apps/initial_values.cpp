#include "trainer/apps/initial_values.h"

#include <filesystem>

#include "checkpoint/restore.h"
#include "core/base/error.h"
#include "trainer/config/folder_keys.h"
#include "trainer/config/schema.h"
#include "trainer/hub/hub_config.h"
#include "trainer/registry/registry.h"
#include "trainer/run/saved_texts.h"

namespace lockstep {
namespace {

/// Null if there is none, or none that can be read: then rows have the same order in both.
TokenizerPtr tokenizer_of(const WeightSource& source) {
  if (!source.tokenizer_json.empty())
    return tokenizer_from_json(source.tokenizer_json, source.path + ": the tokenizer");
  const std::filesystem::path path = std::filesystem::path(source.path) / kHubTokenizer;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return nullptr;
  try {
    return load_tokenizer(path.string());
  } catch (const Error&) {
    return nullptr;  // the run has its own, or could not have opened its data
  }
}

}  // namespace

std::vector<std::int64_t> rows_by_text(const TokenizerPtr& mine, const TokenizerPtr& theirs) {
  if (mine == nullptr || theirs == nullptr || mine->digest() == theirs->digest()) return {};
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(mine->vocab_size()));
  const auto row_of = [&](std::int32_t id) -> std::int64_t {
    try {
      return theirs->id_of(mine->token(id)).value_or(-1);
    } catch (const Error&) {
      return -1;  // vocabularies have ids that are no token
    }
  };
  for (std::int64_t id = 0; id < mine->vocab_size(); ++id)
    out.push_back(row_of(static_cast<std::int32_t>(id)));
  return out;
}

InitialValues::InitialValues(const Config& config, const Registry& registry, const Model& model,
                             const TokenizerPtr& tokenizer, Activity activity) {
  const ForeignCall call(activity, "reading the weights");
  const std::vector<WeightFolder> sources = weight_folders(Schema(registry), config);
  parts_.reserve(sources.size());
  for (const WeightFolder& source : sources) {
    WeightSource weights = open_weights(source.path);
    FitOptions fit{.strict = config.model.strict,
                   .grow_positions = config.model.grow_positions,
                   .part = source.part};
    if (tokenizer != nullptr) fit.token_rows = rows_by_text(tokenizer, tokenizer_of(weights));
    parts_.push_back(
        std::make_shared<Pretrained>(std::move(weights), source.format, model, std::move(fit)));
  }
}

std::optional<HostTensor> InitialValues::value(const std::string& name) const {
  for (const auto& part : parts_)
    if (auto value = part->value(name)) return value;
  return std::nullopt;
}

std::vector<std::string> InitialValues::describe() const {
  std::vector<std::string> out;
  for (const auto& part : parts_)
    for (std::string& line : part->describe()) out.push_back(std::move(line));
  return out;
}

KnownData inherited_data(const LoadedConfig& loaded, const Config& config,
                         const Registry& registry) {
  const std::vector<WeightFolder> sources = weight_folders(Schema(registry), config);
  if (sources.empty()) return {};
  const DataNeeds needs = registry.needs(config.model);
  const bool has_classes = needs.inputs == "labelled_tokens";
  KnownData out;
  for (const WeightFolder& source : sources) {
    if (!brings_texts(source)) continue;
    if (is_hub_folder(source.path)) {
      if (has_classes) out.classes = hub_classes(source.path);
      continue;
    }
    const CheckpointReader file = open_checkpoint(source.path);
    if (!loaded.origins.contains("tokenizer.type") && !registry.at(config.data).brings_tokenizer)
      out.tokenizer_json = file.trainer().tokenizer;
    const auto facts = saved_sample_facts(file.trainer().samples, file.path());
    if (has_classes && facts) out.classes = facts->classes;
  }
  // Others, where the config asks for another number.
  if (std::ssize(out.classes) != needs.n_classes) out.classes.clear();
  return out;
}

}  // namespace lockstep
