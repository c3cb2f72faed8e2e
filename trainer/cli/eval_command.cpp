#include "trainer/apps/evaluate_run.h"
#include "trainer/cli/commands.h"
#include "trainer/cli/standard_output.h"

namespace lockstep {
namespace {

int run_eval(const CommandCall& call) {
  const std::vector<std::string>& words = call.arguments.positionals();
  const EvalCommandOptions what{.best = call.arguments.has("best"),
                                .ema = call.arguments.has("ema"),
                                .overrides = {words.begin() + 1, words.end()}};
  const int status = evaluate_run(words[0], what, call.registry, call.settings, call.watch);
  finish_standard_output();
  return status;
}

}  // namespace

CliCommand eval_command() {
  return {
      .name = "eval",
      .positionals = {"RUN"},
      .rest = "[key.path=value ...]",
      .max_rest = CliCommand::kAnyNumber,
      .help = "print loss and accuracy of a run on its validation data",
      .details =
          "RUN is a run's folder, whose newest good checkpoint is taken, or a checkpoint; or the\n"
          "folder of a Hugging Face model, whose data the keys name, as in a config:\n"
          "data.type=jsonl data.path=FILE data.val_path=FILE.\n",
      .options = {{"best", "", "the checkpoint with the best metric, not the newest"},
                  {"ema", "", "the averaged weights (training.ema), not the trained ones"}},
      .exits = {3, 4, 5, 7},
      .run = run_eval};
}

}  // namespace lockstep
