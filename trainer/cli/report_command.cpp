#include <fmt/ranges.h>

#include <ostream>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/host_memory.h"
#include "trainer/cli/commands.h"
#include "trainer/machine/limits_file.h"
#include "trainer/report/report.h"

namespace lockstep {
namespace {

constexpr const char* kDefaultOutput = "report.html";

int run_report(const CommandCall& call) {
  keep_freed_memory();
  const std::vector<std::string>& runs = call.arguments.positionals();
  const std::string output = call.arguments.value("output").value_or(kDefaultOutput);
  check_can_write(output, ErrorKind::kUsage);
  const FoundLimits found = find_limits(call.settings, host_target(call.settings.max_isa));
  const std::string html = report_html(
      runs, found.limits, fmt::format("lockstep report {}", fmt::join(runs, " ")), call.registry);
  write_file(output, html, ErrorKind::kUsage);
  call.out << fmt::format("{}: {:.0f} KiB, open it in a browser\n", output,
                          static_cast<double>(html.size()) / 1024);
  return 0;
}

}  // namespace

CliCommand report_command() {
  return {
      .name = "report",
      .positionals = {"RUN"},
      .rest = "[RUN ...]",
      .max_rest = CliCommand::kAnyNumber,
      .help = "show runs in one HTML file: curves, times, memory, causes, what to look at first",
      .details =
          "RUN is a run's folder; several runs share the curves' axes. Nothing is run, and a\n"
          "run may still train. The file needs no network and no server. Times, memory and\n"
          "graph need a run with profile.ledger=true; the report says what is missing.\n",
      .options = {{.name = "output", .value = "FILE", .help = "the file to write: report.html"}},
      .run = run_report};
}

}  // namespace lockstep
