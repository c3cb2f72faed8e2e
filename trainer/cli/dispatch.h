// `lockstep COMMAND ...`: finds the command, and runs it.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "core/base/settings.h"
#include "watch/watch.h"

namespace lockstep {

class Registry;

struct Streams {
  std::ostream& out;
  std::ostream& err;
};

/// Runs the command that `arguments` (without the program's name) ask for and returns the exit
/// code: the command's own, or that of the error it ended with, which is printed to `err` as
/// "lockstep: error: ...". Without arguments it prints there what to begin with, and returns 2.
/// Nothing is thrown. Commands that train print to standard output
/// themselves.
int run_command_line(std::span<const std::string> arguments, const Registry& registry,
                     const Settings& settings, Watch& watch, Streams streams);

}  // namespace lockstep
