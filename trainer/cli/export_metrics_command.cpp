#include <ostream>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "trainer/cli/commands.h"
#include "trainer/run/saved_run.h"
#include "trainer/runs/metrics_table.h"

namespace lockstep {
namespace {

int run_export_metrics(const CommandCall& call) {
  const Arguments& arguments = call.arguments;
  LS_USER_CHECK(!arguments.has("json") || !arguments.has("csv"), "--json or --csv, not both");
  const auto output = arguments.value("output");
  LS_USER_CHECK(!output || !output->empty(), "--output is empty: name the file to write");
  if (output) check_can_write(*output, ErrorKind::kUsage);
  const std::vector<TelemetryRecord> records = SavedRun(arguments.positionals()[0]).metrics();
  const std::string text = arguments.has("json") ? metrics_json(records) : metrics_csv(records);
  if (!output) {
    call.out << text;
    return 0;
  }
  write_file(*output, text, ErrorKind::kUsage);
  call.out << fmt::format("{}: {} records\n", *output, records.size());
  return 0;
}

}  // namespace

CliCommand export_metrics_command() {
  return {
      .name = "export-metrics",
      .positionals = {"RUN"},
      .help = "print all measurements of a run as one table, CSV or JSON",
      .details =
          "RUN is a run's folder. A row is a record of its metrics.jsonl, a column a measurement\n"
          "that any record has. In CSV a value that was not measured is empty, and one that was\n"
          "not finite is nan; in JSON both are null.\n",
      .options = {{.name = "csv", .value = "", .help = "as CSV: the default"},
                  {.name = "json", .value = "", .help = "as a JSON list of objects"},
                  {.name = "output",
                   .value = "FILE",
                   .help = "the file to write; default: standard output"}},
      .exits = {3, 4},
      .run = run_export_metrics};
}

}  // namespace lockstep
