// One command of the command line: what it takes, what it says about itself, and what it does.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "core/base/settings.h"
#include "trainer/cli/arguments.h"

namespace lockstep {

/// What a command is run with.
struct CommandCall {
  const Arguments& arguments;
  const Settings& settings;
  std::ostream& out;
};

struct Command {
  std::string name;                      ///< "train", "ckpt ls"
  std::vector<std::string> positionals;  ///< that must be given: {"CONFIG"}
  std::string rest;                      ///< what may follow, any number; empty: nothing
  std::string help;                      ///< one line, without a period
  std::string details;                   ///< further lines of `lockstep NAME --help`
  std::vector<Option> options;
  int (*run)(const CommandCall& call);  ///< returns the exit code; throws Error

  /// "usage: lockstep train CONFIG [key.path=value ...] [--resume[=PATH]] [--dry-run]"
  std::string usage() const;
};

}  // namespace lockstep
