// `lockstep COMMAND ...`: finds the command, runs it, and turns errors into messages and exit
// codes. The only place where that is done.
#pragma once

#include <functional>
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
/// "lockstep: error: ...". Nothing is thrown. Commands that train print to standard output
/// themselves.
int run_command_line(std::span<const std::string> arguments, const Registry& registry,
                     const Settings& settings, Watch& watch, Streams streams);

/// Runs `body` and returns its value. An exception is printed to `err`, and becomes an exit code
/// (core/base/error.h; 1 if it is not an Error). Ranks other than 0 first give rank 0 the time to
/// say it if it is an error that all ranks see alike; mpirun ends them when rank 0 has ended.
int report_errors(const Settings& settings, std::ostream& err, const std::function<int()>& body);

}  // namespace lockstep
