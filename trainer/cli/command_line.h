// `lockstep COMMAND ...`: finds the command, runs it, and turns errors into messages and exit
// codes. Nothing else does that.
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

/// Runs the command named by `arguments` (without the program's name) and returns the exit code:
/// the command's own, or that of its error, which is printed to `err` as "lockstep: error: ...".
/// Does not throw. Commands that train print to standard output themselves.
int run_command_line(std::span<const std::string> arguments, const Registry& registry,
                     const Settings& settings, Watch& watch, Streams streams);

/// Runs `body` and returns its value. An exception is printed to `err`, and becomes an exit code
/// (core/base/error.h; 1 if it is not an Error). If all ranks have the same error, ranks other than
/// 0 first give rank 0 time to print it; mpirun ends them when rank 0 has ended.
int report_errors(const Settings& settings, std::ostream& err, const std::function<int()>& body);

}  // namespace lockstep
