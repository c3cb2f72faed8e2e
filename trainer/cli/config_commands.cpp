#include <ostream>

#include "trainer/cli/commands.h"
#include "trainer/config/batch_plan.h"
#include "trainer/config/load.h"
#include "trainer/config/show.h"

namespace lockstep {
namespace {

LoadedConfig load(const CommandCall& call) {
  const std::span<const std::string> words = call.arguments.positionals();
  return load_config(words[0], call.registry, words.subspan(1));
}

int check(const CommandCall& call) {
  const LoadedConfig loaded = load(call);
  const auto ranks = call.arguments.integer("ranks", 1, 1 << 20).value_or(call.settings.world_size);
  check_batch(loaded, ranks);
  const BatchConfig& batch = loaded.config.batch;
  call.out << loaded.file << ": ok; "
           << (batch.micro_batch_size == kAutoMicroBatch
                   ? fmt::format("batch {}, micro-batch size auto", batch.global_batch_size)
                   : plan_batch(loaded, ranks).to_string())
           << "\n";
  return 0;
}

int show(const CommandCall& call) {
  call.out << config_yaml(load(call).config, call.registry);
  return 0;
}

int schema(const CommandCall& call) {
  if (!call.arguments.positionals().empty()) load(call);
  call.out << (call.arguments.has("json") ? config_schema_json(call.registry)
                                          : config_schema_text(call.registry));
  return 0;
}

}  // namespace

std::vector<CliCommand> config_commands() {
  const std::string rest = "[key.path=value ...]";
  return {{.name = "config check",
           .positionals = {"CONFIG"},
           .rest = rest,
           .max_rest = CliCommand::kAnyNumber,
           .help = "check a config and print all of its problems",
           .options = {{"ranks", "N", "check that the batch divides over N ranks"}},
           .exits = {3, 4},
           .run = check},
          {.name = "config show",
           .positionals = {"CONFIG"},
           .rest = rest,
           .max_rest = CliCommand::kAnyNumber,
           .help = "print a config with all defaults filled in",
           .exits = {3, 4},
           .run = show},
          {.name = "config schema",
           .positionals = {},
           .rest = "[CONFIG]",
           .max_rest = 1,
           .help = "print all keys with type, default, unit and meaning",
           .details = "If a CONFIG is given, it is checked first.\n",
           .options = {{"json", "", "print a JSON schema, for editors"}},
           .exits = {3, 4},
           .run = schema}};
}

}  // namespace lockstep
