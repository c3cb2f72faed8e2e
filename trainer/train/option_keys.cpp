#include "trainer/train/option_keys.h"

#include <algorithm>
#include <filesystem>

#include "core/base/error.h"
#include "trainer/config/schema.h"
#include "trainer/config/values.h"
#include "trainer/registry/registry.h"
#include "trainer/settings/setting_name.h"

namespace lockstep {
namespace {

/// The only list of the sections that both have. It names every member of TrainerOptions: a new one
/// that is missing here does not compile.
template <class Options, class ConfigType, class F>
void for_each_section(Options& options, ConfigType& config, const F& f) {
  auto& [run, init_from, strict, seed, training, scheduler, learning_rate, early_stopping,
         checkpoint, logging, progress_lines, groups] = options;
  f(training, config.training);
  f(scheduler, config.scheduler);
  f(early_stopping, config.early_stopping);
  f(checkpoint, config.checkpoint);
  f(logging, config.logging);
}

Config config_of(const TrainerOptions& options) {
  Config out;
  for_each_section(options, out, [](const auto& from, auto& to) { to = from; });
  return out;
}

/// The keys of the sections.
std::vector<ConfigKey> option_keys() {
  TrainerOptions options;
  Config config;
  std::vector<const void*> sections;
  for_each_section(options, config,
                   [&](const auto&, const auto& section) { sections.push_back(&section); });
  const Registry registry;  // none of them depends on a choice
  const Schema schema(registry);
  std::vector<ConfigKey> out;
  for (const ConfigKey& key : schema.keys())
    if (std::ranges::find(sections, key.object_in(std::as_const(config))) != sections.end())
      out.push_back(key);
  return out;
}

}  // namespace

TrainerOptions options_of(const Config& config) {
  TrainerOptions out{.run = (std::filesystem::path(config.run.dir) / config.run.name).string(),
                     .seed = static_cast<std::uint64_t>(config.run.seed),
                     .progress_lines = true};
  for_each_section(out, config, [](auto& to, const auto& from) { to = from; });
  return out;
}

void check_options(const TrainerOptions& options) {
  const Config config = config_of(options);
  Config scratch;
  for (ConfigKey key : option_keys()) {
    const std::string value = value_text(key, config);
    key.path = setting_name(SettingsOf::kProgram, key.path);
    if (const auto problem = set_value(key, value, scratch))
      raise(ErrorKind::kUsage, "{}", *problem);
  }
  const CheckpointConfig& saving = options.checkpoint;
  const bool uses_folder = saving.save_interval > 0 || saving.keep_best || saving.resume == "auto";
  LS_USER_CHECK(!options.run.empty() || !uses_folder,
                "save_interval, keep_best and resume of TrainerOptions::checkpoint need a folder: "
                "give TrainerOptions::run");
  LS_USER_CHECK(!options.learning_rate || options.scheduler.name == SchedulerName::kConstant,
                "TrainerOptions::learning_rate takes the place of TrainerOptions::scheduler: give "
                "one of them");
}

std::vector<Term> terms_of(const TrainerOptions& options) {
  const Config config = config_of(options);
  // The source may have another path on each host.
  std::vector<Term> out{{"seed", fmt::format("{}", options.seed)},
                        {"init_from", options.init_from.empty() ? "none" : "given"},
                        {"strict", fmt::format("{}", options.strict)}};
  for (const ConfigKey& key : option_keys())
    if (auto term = term_of(key, config)) out.push_back(std::move(*term));
  return out;
}

}  // namespace lockstep
