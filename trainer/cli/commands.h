// All commands. Each is made in a file of its name; a new one is a file and a line in commands.cpp.
#pragma once

#include <vector>

#include "trainer/cli/command.h"

namespace lockstep {

/// In the order of `lockstep --help`.
std::vector<Command> all_commands();

Command train_command();
Command eval_command();
Command generate_command();
std::vector<Command> config_commands();
std::vector<Command> ckpt_commands();
Command ir_run_command();
Command ir_print_command();
std::vector<Command> prepare_commands();
Command doctor_command();
Command models_command();

}  // namespace lockstep
