#include <ostream>

#include "trainer/cli/commands.h"
#include "trainer/runs/compare_runs.h"

namespace lockstep {
namespace {

int run_compare(const CommandCall& call) {
  const ComparedRuns compared = compare_runs(
      call.arguments.positionals(), call.arguments.value("metric").value_or(""), call.registry);
  call.out << (call.arguments.has("json") ? compared_json(compared)
                                          : compared_text(compared, {.width = terminal_width()}));
  return 0;
}

}  // namespace

CliCommand compare_command() {
  return {.name = "compare",
          .positionals = {"RUN"},
          .rest = "[RUN ...]",
          .max_rest = CliCommand::kAnyNumber,
          .help = "compare runs in the terminal: curves of a metric, config keys that differ, ends",
          .details =
              "RUN is a run's folder, and may still train. `lockstep report RUN RUN` draws all of\n"
              "their metrics in a file to look at.\n",
          .options = {{.name = "metric",
                       .value = "NAME",
                       .help = "as in metrics.jsonl; default: eval/loss if all have it, else "
                               "train/loss"},
                      {.name = "json", .value = "", .help = "as JSON, with all values"}},
          .exits = {3, 4},
          .run = run_compare};
}

}  // namespace lockstep
