#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <ostream>
#include <set>
#include <string>

#include "core/base/error.h"
#include "trainer/cli/commands.h"
#include "trainer/runs/move_run.h"

namespace lockstep {
namespace {

std::string list_of_runs(const std::vector<std::string>& runs) {
  std::string out;
  for (const std::string& run : runs)
    out += fmt::format("  {} ({:.1f} MiB)\n", run, static_cast<double>(bytes_in(run)) / (1 << 20));
  return out;
}

bool is_agreed(const std::vector<std::string>& runs) {
  LS_USER_CHECK(isatty(STDIN_FILENO) != 0,
                "rm asks before it removes anything, and standard input is no terminal: say --yes");
  std::cerr << list_of_runs(runs) << "Remove " << (runs.size() == 1 ? "it" : "them")
            << " for good? [y/N] " << std::flush;
  std::string answer;
  return std::getline(std::cin, answer) && (answer == "y" || answer == "yes");
}

int run_rm(const CommandCall& call) {
  const std::vector<std::string>& runs = call.arguments.positionals();
  std::set<std::string> names;
  for (const std::string& run : runs) {
    require_movable(run);
    LS_USER_CHECK(names.insert(std::filesystem::canonical(run).string()).second,
                  "{} is named twice", run);
  }
  if (!call.arguments.has("yes") && !is_agreed(runs)) {
    call.out << "nothing was removed\n";
    return 0;
  }
  for (const std::string& run : runs) {
    remove_run(run);
    call.out << "removed " << run << "\n" << std::flush;
  }
  return 0;
}

int run_mv(const CommandCall& call) {
  const std::vector<std::string>& words = call.arguments.positionals();
  const MovedRun moved = move_run(words[0], words[1]);
  call.out << fmt::format("{} is {} now\n", words[0], moved.path);
  if (!moved.note.empty()) std::cerr << "lockstep: warning: " << moved.note << "\n";
  return 0;
}

}  // namespace

std::vector<CliCommand> move_commands() {
  return {
      {.name = "mv",
       .positionals = {"RUN", "NAME"},
       .help = "rename a run, or move it to another folder; it can be resumed there",
       .details =
           "RUN is a run's folder. NAME is its new name beside the old one; with a '/' it is a\n"
           "path, or a folder to move it into (DIR/). Its config.yaml gets the new run.dir and\n"
           "run.name: `lockstep train NEW/config.yaml --resume` goes on. A run in training stays\n"
           "where it is.\n",
       .exits = {3, 4},
       .run = run_mv},
      {.name = "rm",
       .positionals = {"RUN"},
       .rest = "[RUN ...]",
       .max_rest = CliCommand::kAnyNumber,
       .help = "remove runs with all of their checkpoints, after a question",
       .details =
           "RUN is a run's folder. A run in training, a link and a folder that is no run are\n"
           "refused, before any other is removed. If it is killed, the rest is named\n"
           "RUN.removing, and can be removed in the same way.\n",
       .options = {{.name = "yes", .value = "", .help = "do not ask"}},
       .exits = {3, 4},
       .run = run_rm}};
}

}  // namespace lockstep
