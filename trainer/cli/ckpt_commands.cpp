#include <iostream>
#include <limits>
#include <ostream>

#include "checkpoint/commands.h"
#include "trainer/cli/commands.h"

namespace lockstep {
namespace {

template <CommandResult (*command)(const std::string&)>
int run_on_path(const CommandCall& call) {
  const CommandResult result = command(call.arguments.positionals()[0]);
  call.out << result.text;
  std::cerr << result.note;
  return result.status;
}

int prune(const CommandCall& call) {
  const auto keep = call.arguments.integer("keep-last", 1, std::numeric_limits<int>::max());
  const CommandResult result =
      checkpoint_prune(call.arguments.positionals()[0], static_cast<int>(keep.value_or(3)));
  call.out << result.text;
  return result.status;
}

CliCommand on_path(const std::string& name, std::string help, int (*run)(const CommandCall&)) {
  return {.name = "ckpt " + name,
          .positionals = {"PATH"},
          .help = std::move(help),
          .details = "PATH is a run's folder, a folder of checkpoints, or a checkpoint.\n",
          .exits = {4},
          .run = run};
}

}  // namespace

std::vector<CliCommand> ckpt_commands() {
  std::vector<CliCommand> out{
      on_path("ls", "list a run's checkpoints and whether they are sound",
              run_on_path<checkpoint_ls>),
      on_path("inspect", "print what a checkpoint holds", run_on_path<checkpoint_inspect>),
      on_path("verify", "check every bit; exit code 4 if one is wrong",
              run_on_path<checkpoint_verify>),
      on_path("hash", "print the SHA-256 of a checkpoint's tensors", run_on_path<checkpoint_hash>),
      on_path("prune", "remove all but the newest checkpoints, the best and the newest good one",
              prune)};
  out.back().options = {{"keep-last", "N", "number of newest checkpoints to keep (3)"}};
  return out;
}

}  // namespace lockstep
