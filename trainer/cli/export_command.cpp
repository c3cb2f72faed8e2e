#include <ostream>

#include "core/base/error.h"
#include "trainer/apps/export.h"
#include "trainer/cli/commands.h"

namespace lockstep {
namespace {

int run_export(const CommandCall& call) {
  const std::optional<std::string> to = call.arguments.value("to");
  LS_USER_CHECK(to.has_value() && !to->empty(),
                "--to FOLDER is missing: the folder to write the model to");
  call.out << export_run({.run = call.arguments.positionals()[0],
                          .to = *to,
                          .best = call.arguments.has("best"),
                          .ema = call.arguments.has("ema"),
                          .force = call.arguments.has("force")},
                         call.registry);
  return 0;
}

}  // namespace

CliCommand export_command() {
  return {.name = "export",
          .positionals = {"RUN"},
          .help = "write a run's model as a Hugging Face folder",
          .details =
              "RUN is a run's folder, whose newest good checkpoint is taken, or a checkpoint. The\n"
              "folder has config.json, model.safetensors and the tokenizer's files; transformers\n"
              "and `model.init_from` read it.\n",
          .options = {{"to", "FOLDER", "where the model goes; it must be empty or not be there"},
                      {"best", "", "the checkpoint with the best metric, not the newest"},
                      {"ema", "", "the averaged weights (training.ema), not the trained ones"},
                      {"force", "", "replace the files of the model in a folder that is there"}},
          .exits = {3, 4, 5, 7},
          .run = run_export};
}

}  // namespace lockstep
