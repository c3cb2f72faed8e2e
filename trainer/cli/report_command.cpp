#include <filesystem>
#include <fstream>
#include <ostream>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "core/base/host_memory.h"
#include "trainer/cli/commands.h"
#include "trainer/machine/limits_file.h"
#include "trainer/report/report.h"
#include "trainer/report/run_facts.h"

namespace lockstep {
namespace {

constexpr const char* kDefaultOutput = "report.html";
constexpr std::size_t kTitleBytes = 4096;  ///< of a report, in which its title stands

/// Whether nothing but an earlier report would be lost.
bool may_replace(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return true;
  std::ifstream file(path, std::ios::binary);
  std::string begin(kTitleBytes, '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(file.gcount()));
  return begin.empty() || begin.find("<title>lockstep report</title>") != std::string::npos;
}

std::string command_line(const std::vector<std::string>& runs, const std::string& output) {
  std::string out = "lockstep report";
  for (const std::string& run : runs) out += " " + shell_word(run);
  return out + " --output " + shell_word(output);
}

int run_report(const CommandCall& call) {
  keep_freed_memory();
  const std::vector<std::string>& runs = call.arguments.positionals();
  const std::string output = call.arguments.value("output").value_or(kDefaultOutput);
  LS_USER_CHECK(!output.empty(), "--output is empty: name the file to write");
  LS_USER_CHECK(may_replace(output), "--output {}: exists and is no report; choose another name",
                output);
  check_can_write(output, ErrorKind::kUsage);
  const FoundLimits found = find_limits(call.settings, host_target(call.settings.max_isa));
  const std::string html =
      report_html(runs, found.limits, command_line(runs, output), call.registry);
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
      .exits = {3, 4},
      .run = run_report};
}

}  // namespace lockstep
