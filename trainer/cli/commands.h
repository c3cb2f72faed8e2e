// All commands. Each is in a file of its name; a new one is a file and a line in commands.cpp.
#pragma once

#include <vector>

#include "trainer/cli/command.h"

namespace lockstep {

/// In the order of `lockstep --help`.
std::vector<CliCommand> all_commands();

CliCommand init_command();
CliCommand train_command();
CliCommand launch_command();
CliCommand eval_command();
CliCommand generate_command();
CliCommand predict_command();
CliCommand export_command();
std::vector<CliCommand> config_commands();
std::vector<CliCommand> ckpt_commands();
CliCommand ir_run_command();
CliCommand ir_print_command();
std::vector<CliCommand> prepare_commands();
CliCommand doctor_command();
CliCommand calibrate_command();
CliCommand profile_command();
CliCommand report_command();
CliCommand sweep_command();
CliCommand lr_find_command();
CliCommand runs_command();
CliCommand compare_command();
CliCommand export_metrics_command();
std::vector<CliCommand> move_commands();
CliCommand trace_command();
CliCommand models_command();
CliCommand foresee_command();
CliCommand devices_command();
CliCommand version_command();
CliCommand reference_command();

}  // namespace lockstep
