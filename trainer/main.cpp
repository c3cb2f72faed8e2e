// The executable `lockstep`.
#include <iostream>

#include "trainer/cli/command_line.h"
#include "trainer/process.h"

int main(int argc, char** argv) {
  return lockstep::run_process(argc, argv, [](const lockstep::ProcessCall& call) {
    return lockstep::run_command_line(call.arguments, call.settings, call.watch,
                                      {std::cout, std::cerr});
  });
}
