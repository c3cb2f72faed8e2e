#include "trainer/cli/command_line.h"

#include <iostream>

#include "trainer/cli/dispatch.h"
#include "trainer/job/process.h"

namespace lockstep {

int command_line(int argc, char** argv, const Registry& registry) {
  return run_process(argc, argv, [&](const ProcessCall& call) {
    return run_command_line(call.arguments, registry, call.settings, call.watch,
                            {std::cout, std::cerr});
  });
}

}  // namespace lockstep
