// The frame of a program: prepares the process, starts the watch, and turns an exception into a
// message and an exit code. main() of the command line and of users' programs is one call of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/settings.h"
#include "watch/watch.h"

namespace lockstep {

/// The inputs of a program's body.
struct ProcessCall {
  const std::vector<std::string>& arguments;  ///< without the program's name
  const Settings& settings;
  Watch& watch;
};

/// Runs `body` and returns the process's exit code: its value, or that of its exception
/// (core/base/error.h), which is printed to standard error. Call it first in main(), once.
int run_process(int argc, char** argv, const std::function<int(const ProcessCall&)>& body);

}  // namespace lockstep
