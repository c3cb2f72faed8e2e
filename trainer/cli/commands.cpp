#include "trainer/cli/commands.h"

namespace lockstep {

std::vector<CliCommand> all_commands() {
  std::vector<CliCommand> out;
  for (const auto& group :
       {std::vector{init_command(), train_command(), launch_command(), sweep_command(),
                    lr_find_command(), eval_command(), generate_command(), predict_command(),
                    export_command()},
        config_commands(), ckpt_commands(), std::vector{ir_run_command(), ir_print_command()},
        prepare_commands(),
        std::vector{runs_command(), compare_command(), export_metrics_command()}, move_commands(),
        std::vector{profile_command(), report_command(), trace_command(), calibrate_command(),
                    doctor_command(), models_command(), foresee_command(), devices_command(),
                    version_command(), reference_command()}})
    out.insert(out.end(), group.begin(), group.end());
  return out;
}

}  // namespace lockstep
