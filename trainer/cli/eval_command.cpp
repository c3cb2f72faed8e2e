#include "trainer/cli/commands.h"
#include "trainer/cli/standard_output.h"
#include "trainer/train.h"

namespace lockstep {
namespace {

int run(const CommandCall& call) {
  const int status = evaluate_run(call.arguments.positionals()[0], call.arguments.has("best"),
                                  call.registry, call.settings, call.watch);
  finish_standard_output();
  return status;
}

}  // namespace

CliCommand eval_command() {
  return {
      .name = "eval",
      .positionals = {"RUN"},
      .help = "print loss and accuracy of a run on its validation data",
      .details = "RUN is a run's folder, whose newest good checkpoint is used, or a checkpoint.\n",
      .options = {{"best", "", "use the checkpoint with the best metric, not the newest"}},
      .run = run};
}

}  // namespace lockstep
