#include <unistd.h>

#include <filesystem>

#include "core/base/error.h"
#include "trainer/cli/commands.h"
#include "trainer/cli/exit_codes.h"
#include "trainer/config/load.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/launch/launch.h"
#include "trainer/run/saved_run.h"

namespace lockstep {
namespace {

constexpr int kMaxJobRanks = 1 << 20;
constexpr int kMaxRestarts = 1000000;
constexpr int kRestarts = 3;  ///< the default

/// The config of a command that takes one. It is read here so that an error in it is reported once,
/// before anything is started.
Config config_of(std::span<const std::string> words, const Registry& registry,
                 const CliCommand& command) {
  const Arguments arguments(words, command.options);
  const std::span<const std::string> positionals = arguments.positionals();
  LS_USER_CHECK(!positionals.empty(), "{} needs a CONFIG", command.name);
  return load_config(positionals[0], registry, positionals.subspan(1)).config;
}

/// Sets the folder in which training with these arguments saves, and its limits.
void prepare_training(std::span<const std::string> words, const Registry& registry,
                      LaunchOptions& options) {
  const Config config = config_of(words, registry, train_command());
  const std::filesystem::path folder = std::filesystem::path(config.run.dir) / config.run.name;
  options.checkpoints = (folder / "checkpoints").string();
  options.limits = watch_limits(config);
}

/// The limits of the run that these arguments of eval or generate name.
WatchLimits limits_of_run(std::span<const std::string> words, const Registry& registry,
                          const CliCommand& command) {
  const Arguments arguments(words, command.options);
  LS_USER_CHECK(!arguments.positionals().empty(), "{} needs a RUN", command.name);
  return watch_limits(SavedRun(arguments.positionals()[0]).config_file(registry));
}

/// Of a program of the user; other hosts know it by the same path.
std::string program_path(const std::string& word) {
  const std::filesystem::path path = std::filesystem::absolute(word).lexically_normal();
  LS_USER_CHECK(std::filesystem::is_regular_file(path), "cannot launch '{}': no such program",
                word);
  LS_USER_CHECK(access(path.c_str(), X_OK) == 0, "cannot launch '{}': it is not executable", word);
  return path.string();
}

int run_launch(const CommandCall& call) {
  const Arguments& arguments = call.arguments;
  const auto ranks = arguments.integer("ranks", 1, kMaxJobRanks);
  LS_USER_CHECK(ranks, "the number of ranks is missing: lockstep launch -n N -- train CONFIG");
  LS_USER_CHECK(!call.settings.under_launcher,
                "lockstep launch starts mpirun: do not run it under mpirun");
  LaunchOptions options;
  options.ranks = static_cast<int>(*ranks);
  if (const auto hosts = arguments.value("hosts"))
    options.hosts = parse_hosts(*hosts, options.ranks);
  options.hostfile = arguments.value("hostfile").value_or("");
  options.max_restarts =
      static_cast<int>(arguments.integer("max-restarts", 0, kMaxRestarts).value_or(kRestarts));
  options.command = arguments.positionals();
  options.in_allocation = call.settings.in_allocation;
  options.tcp_interfaces = call.settings.tcp_interfaces;
  options.slurm = {.name = call.settings.slurm_job,
                   .restarts = call.settings.slurm_restarts,
                   .nodes = call.settings.slurm_nodes};
  options.requeue = arguments.has("requeue");
  LS_USER_CHECK(!options.requeue || !options.slurm.name.empty(),
                "--requeue is for a job of Slurm, and this process is in none");
  const std::string& command = options.command[0];
  if (command.find('/') != std::string::npos) {
    options.program = program_path(command);
    options.command.erase(options.command.begin());
    return launch(options);
  }
  LS_USER_CHECK(command != "lockstep",
                "behind '--' stands the command of the ranks without 'lockstep': train CONFIG");
  LS_USER_CHECK(
      command == "train" || command == "eval" || command == "generate" || command == "lr-find",
      "cannot launch '{}': the commands for several ranks are train, eval, generate and lr-find; a "
      "program of your own is named by a path: ./{}",
      command, command);
  const auto words = std::span<const std::string>(options.command).subspan(1);
  if (command == "train")
    prepare_training(words, call.registry, options);
  else if (command == "lr-find")
    options.limits = watch_limits(config_of(words, call.registry, lr_find_command()));
  else
    options.limits = limits_of_run(words, call.registry,
                                   command == "eval" ? eval_command() : generate_command());
  return launch(options);
}

}  // namespace

CliCommand launch_command() {
  return {.name = "launch",
          .positionals = {"COMMAND"},
          .rest = "...",
          .max_rest = CliCommand::kAnyNumber,
          .help = "run a command on several ranks with mpirun, and restart lost jobs",
          .details =
              "Example: lockstep launch -n 4 --hosts node1,node2 -- train gpt.yaml --resume\n"
              "A job that loses a rank or a host, or stalls, resumes from its last checkpoint.\n"
              "A COMMAND with a slash is a program of your own on the library, which is started\n"
              "again with the same words: lockstep launch -n 4 -- ./mine WORDS. It resumes if its\n"
              "TrainerOptions ask for that (.checkpoint = {.resume = \"auto\"}).\n"
              "SIGTERM, SIGINT or SIGUSR1 saves a checkpoint and ends with exit code 75; a second\n"
              "SIGINT ends at once. Otherwise its code is that of the job, also of a program of "
              "your own.\n"
              "OpenMPI's own settings are read from OMPI_MCA_* variables.\n",
          .options =
              {{.name = "ranks", .value = "N", .help = "number of ranks", .letter = 'n'},
               {.name = "hosts",
                .value = "HOST[:RANKS],...",
                .help = "hosts of the ranks; this host is the first. Default: this host, or "
                        "Slurm's allocation"},
               {.name = "hostfile", .value = "FILE", .help = "the same, as a hostfile of mpirun"},
               {.name = "max-restarts",
                .value = "K",
                .help = "how often a lost job is started again (3)"},
               {.name = "requeue",
                .value = "",
                .help = "in a batch job of Slurm: give it back to the queue after 75, and if "
                        "it is lost for good on these nodes"}},
          .exits = {3, 4, 5, 7, kPointsFailedExit, kUnfitExit},
          .run = run_launch};
}

}  // namespace lockstep
