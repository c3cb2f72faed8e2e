#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <ostream>
#include <sstream>

#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "data/files/read_text.h"
#include "trainer/cli/commands.h"
#include "trainer/run/saved_run.h"
#include "trainer/timeline/chrome_json.h"
#include "trainer/timeline/read_trace.h"

namespace lockstep {
namespace {

/// A million events of each of a hundred ranks.
constexpr std::uint64_t kMaxTraceBytes = std::uint64_t{1} << 34U;

namespace fs = std::filesystem;

/// The number of events of each track, and its busy time.
void print_tracks(const TraceFile& trace, std::ostream& out) {
  struct Sum {
    std::int64_t events = 0;
    std::int64_t busy_ns = 0;
  };
  std::map<std::uint64_t, Sum> sums;
  for (const TraceEvent& event : trace.events) {
    Sum& sum = sums[event.track];
    ++sum.events;
    if (event.depth == 0) sum.busy_ns += event.end_ns - event.begin_ns;
  }
  for (const auto& [id, track] : trace.tracks) {
    const Sum& sum = sums[id];
    if (track.parent == 0 || sum.events == 0) continue;
    out << fmt::format("{:<16} {:<20} {:>8} events", track.process, track.name, sum.events);
    if (!track.is_counter)
      out << fmt::format(" {:>12.3f} ms", static_cast<double>(sum.busy_ns) * 1e-6);
    out << "\n";
  }
}

int run_trace(const CommandCall& call) {
  const std::string path = SavedRun(call.arguments.positionals().at(0)).trace_file();
  LS_USER_CHECK(fs::exists(path), "{}: no such run or file", path);
  const TraceFile trace = read_trace(read_text(path, kMaxTraceBytes), path);
  const auto json = call.arguments.value("json");
  if (!json) {
    print_tracks(trace, call.out);
    return 0;
  }
  std::ostringstream text;
  write_chrome_json(trace, text);
  write_file(*json, text.view(), ErrorKind::kUsage);
  return 0;
}

}  // namespace

CliCommand trace_command() {
  return {.name = "trace",
          .positionals = {"RUN"},
          .help = "summarize the trace of a run, or convert it for another viewer",
          .details =
              "RUN is a run's folder, or a file of that format. A run with\n"
              "profile.trace.steps=[FIRST,LAST] writes RUN/trace.perfetto-trace, which\n"
              "ui.perfetto.dev opens; --json is for chrome://tracing.\n",
          .options = {{.name = "json", .value = "FILE", .help = "write the trace as JSON"}},
          .exits = {3, 4},
          .run = run_trace};
}

}  // namespace lockstep
