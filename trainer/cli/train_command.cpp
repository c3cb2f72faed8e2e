#include "trainer/apps/train.h"
#include "trainer/cli/commands.h"
#include "trainer/devices/device_times.h"

namespace lockstep {
namespace {

int run_train(const CommandCall& call) {
  const std::span<const std::string> words = call.arguments.positionals();
  call.watch.activity().begin(Phase::kConfig);
  const TrainOptions options{.resume = call.arguments.value("resume"),
                             .dry_run = call.arguments.has("dry-run")};
  LoadedConfig config =
      load_config(words[0], call.registry, words.subspan(1), options.resume.has_value());
  take_memory_of_profile(config);
  return train(config, call.registry, options, call.settings, call.watch);
}

}  // namespace

CliCommand train_command() {
  return {.name = "train",
          .positionals = {"CONFIG"},
          .rest = "[key.path=value ...]",
          .max_rest = CliCommand::kAnyNumber,
          .help = "train a model; under mpirun, by all ranks together",
          .details =
              "CONFIG is a YAML file (see `lockstep config schema`); key.path=value overrides\n"
              "one of its keys, as in training.max_steps=100. SIGUSR1, SIGTERM or SIGINT saves a\n"
              "checkpoint at the next step and ends with exit code 75; to a job of mpirun, send\n"
              "SIGUSR1: the others leave it no time to save.\n",
          .options = {{.name = "resume",
                       .value = "PATH",
                       .help = "go on from a checkpoint; alone: from the run's newest good one, if "
                               "there is one",
                       .bare = "auto"},
                      {.name = "dry-run",
                       .value = "",
                       .help = "compile, print parameters, memory and batch arithmetic, and stop"}},
          .exits = {3, 4, 5, 7},
          .run = run_train};
}

}  // namespace lockstep
