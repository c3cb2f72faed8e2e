// One command of the command line: its arguments, its help texts and its function.
#pragma once

#include <iosfwd>
#include <limits>
#include <string>
#include <vector>

#include "core/base/settings.h"
#include "trainer/cli/arguments.h"
#include "trainer/registry/registry.h"
#include "watch/watch.h"

namespace lockstep {

/// The inputs of a command's function.
struct CommandCall {
  const Arguments& arguments;
  const Registry& registry;
  const Settings& settings;
  Watch& watch;
  std::ostream& out;
};

struct CliCommand {
  std::string name;                      ///< "train", "ckpt ls"
  std::vector<std::string> positionals;  ///< the required ones: {"CONFIG"}
  std::string rest = "";     ///< the optional arguments that may follow, as written in the usage
  std::size_t max_rest = 0;  ///< the maximum number of `rest`
  std::string help;          ///< one line, without a period
  std::string details = "";  ///< further lines of `lockstep NAME --help`
  std::vector<Option> options = {};
  /// Exit codes beyond those of all commands (exit_codes_of): 3 of who reads data, 4 runs or
  /// checkpoints, 5 and 7 of who computes with ranks, and the command's own.
  std::vector<int> exits = {};
  int (*run)(const CommandCall& call) = nullptr;  ///< returns the exit code; throws Error

  static constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

  /// "usage: lockstep train CONFIG [key.path=value ...] [--resume[=PATH]] [--dry-run]"
  std::string usage() const;
};

}  // namespace lockstep
