// The frame of a program: the process's surroundings put in order, the watch started, and what ends
// as an exception turned into a message and an exit code. main() of the command line and of
// programs of users is one call of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/settings.h"
#include "watch/watch.h"

namespace lockstep {

/// What a program's body is run with.
struct ProcessCall {
  const std::vector<std::string>& arguments;  ///< without the program's name
  const Settings& settings;
  Watch& watch;
};

/// Runs `body` and returns the process's exit code: its value, or that of the exception it ended
/// with (core/base/error.h), which is printed to standard error. First thing in main(), once.
int run_process(int argc, char** argv, const std::function<int(const ProcessCall&)>& body);

}  // namespace lockstep
