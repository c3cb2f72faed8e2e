#include "trainer/apps/used_model.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "trainer/apps/from_config.h"
#include "trainer/config/load.h"
#include "trainer/hub/hub_config.h"
#include "trainer/hub/weight_source.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

/// What a config must say, and a folder does not: none of it reaches a model that is only used.
constexpr std::string_view kOtherKeys =
    "data: {type: synthetic}\n"
    "training: {max_steps: 0, global_batch_size: 8, micro_batch_size: 8}\n"
    "optimizer: {learning_rate: 1}\n";

/// The model that reads the folder.
const ModelRow& row_of_folder(const std::string& folder, const Registry& registry) {
  std::vector<std::string> problems;
  for (const ModelRow& row : registry.models()) {
    if (!row.hub) continue;
    try {
      read_hub_config(folder, *row.hub, row.name, /*strict=*/true);
      return row;
    } catch (const Error& error) {
      problems.emplace_back(error.what());
    }
  }
  raise(ErrorKind::kUsage, "{}: no model reads this folder:\n  {}", folder,
        fmt::join(problems, "\n  "));
}

Config config_of_folder(const std::string& folder, const Registry& registry,
                        std::span<const std::string> overrides) {
  std::vector<std::string> words{"model.name=" + row_of_folder(folder, registry).name,
                                 "model.init_from=" + folder};
  words.insert(words.end(), overrides.begin(), overrides.end());
  const Config out = parse_new_config(kOtherKeys, folder, registry, words).config;
  return with_classes_of({}, out, registry);  // a config.json without labels names none
}

UsedModel open_folder(const std::string& folder, const Registry& registry,
                      std::span<const std::string> overrides) {
  UsedModel out{.path = folder, .facts = {}};
  out.facts.config = config_of_folder(folder, registry, overrides);
  const std::string tokenizer = (fs::path(folder) / kHubTokenizer).string();
  std::error_code error;
  if (fs::exists(tokenizer, error)) out.facts.tokenizer = load_tokenizer(tokenizer);
  if (registry.needs(out.facts.config.model).inputs == "labelled_tokens")
    if (std::vector<std::string> classes = hub_classes(folder); !classes.empty())
      out.facts.samples = SampleFacts{.shape = {}, .classes = std::move(classes)};
  return out;
}

}  // namespace

SavedWeights weights_of(bool ema) {
  return ema ? SavedWeights::kAveraged : SavedWeights::kTrained;
}

UsedModel UsedModel::open(const std::string& path, const Registry& registry,
                          Communicator& communicator, Activity activity, SavedState which,
                          std::span<const std::string> overrides) {
  if (is_hub_folder(path)) {
    LS_USER_CHECK(which == SavedState::kNewest, "{} is a model's folder: it has no best checkpoint",
                  path);
    const ForeignCall call(activity, "reading the folder");
    return open_folder(path, registry, overrides);
  }
  LS_USER_CHECK(overrides.empty(),
                "{} is not a model's folder, and a run has its own config: leave "
                "out {}",
                path, overrides.empty() ? "" : overrides.front());
  SharedCheckpoint saved = SavedRun(path).share_checkpoint(communicator, activity, which);
  SavedFacts facts = facts_of(saved, registry);
  std::string name = saved.path();
  return {.path = std::move(name), .facts = std::move(facts), .checkpoint = std::move(saved)};
}

RestoredModel UsedModel::restore(const Registry& registry, std::int64_t vocab_size,
                                 RankRuntime& runtime, SavedWeights which) const {
  if (checkpoint) return {facts.config, registry, vocab_size, runtime, *checkpoint, which};
  LS_USER_CHECK(which == SavedWeights::kTrained,
                "{} is a model's folder: it has no averaged weights; leave out --ema", path);
  return {facts.config, registry, vocab_size, runtime, path};
}

std::string UsedModel::tokenizer_json() const {
  if (checkpoint) return checkpoint->trainer().tokenizer;
  return facts.tokenizer == nullptr ? "" : facts.tokenizer->serialize();
}

}  // namespace lockstep
