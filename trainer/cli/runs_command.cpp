#include <algorithm>
#include <ostream>

#include "core/base/error.h"
#include "trainer/cli/commands.h"
#include "trainer/runs/run_table.h"

namespace lockstep {
namespace {

std::vector<WatchedMetric> watched_metrics(const CommandCall& call) {
  std::vector<std::string> names = call.arguments.values("metric");
  if (names.empty()) names = {"train/loss", "eval/loss"};
  std::vector<WatchedMetric> out;
  for (std::string& name : names) {
    const bool larger_is_better = call.registry.larger_is_better(name);
    out.push_back({std::move(name), larger_is_better});
  }
  return out;
}

void print_others(const FoundRuns& found, std::ostream& out) {
  constexpr std::size_t kNamed = 5;
  if (found.others.empty()) return;
  std::string names;
  for (std::size_t i = 0; i < std::min(found.others.size(), kNamed); ++i)
    names += (i == 0 ? "" : ", ") + found.others[i];
  if (found.others.size() > kNamed) names += ", ...";
  out << fmt::format("{} other folder{}, no run{}: {}\n", found.others.size(),
                     found.others.size() == 1 ? "" : "s", found.others.size() == 1 ? "" : "s",
                     names);
}

int run_runs(const CommandCall& call) {
  const Arguments& arguments = call.arguments;
  const std::vector<std::string>& given = arguments.positionals();
  const std::string folder = given.empty() ? RunConfig().dir : given[0];
  LS_USER_CHECK(!arguments.has("json") || !arguments.has("csv"), "--json or --csv, not both");
  const std::vector<WatchedMetric> metrics = watched_metrics(call);
  FoundRuns found = find_runs(folder, metrics);
  RunTable table(std::move(found.runs), metrics);
  for (const std::string& word : arguments.values("filter")) table.filter(word);
  if (const auto field = arguments.value("sort")) table.sort(*field);
  if (arguments.has("reverse")) table.reverse();
  if (arguments.has("json")) {
    call.out << table.json();
  } else if (arguments.has("csv")) {
    call.out << table.csv();
  } else if (table.runs().empty()) {
    call.out << fmt::format("{}: no runs{}\n", folder,
                            arguments.has("filter") ? " that --filter keeps" : "");
    print_others(found, call.out);
  } else {
    call.out << table.text();
    print_others(found, call.out);
  }
  return 0;
}

}  // namespace

CliCommand runs_command() {
  return {
      .name = "runs",
      .positionals = {},
      .rest = "[DIR]",
      .max_rest = 1,
      .help = "list the runs of a folder: state, step, last and best metrics, what differs",
      .details =
          "DIR is the run.dir of their configs: runs, if it is not given. Nothing is run, and no\n"
          "checkpoint is opened. 'best' is the best value of the metric before it, 'differs' has\n"
          "the config keys in which a run differs from most others. KEY is a column (name,\n"
          "model, state, step, wall, ended), a metric that is shown (its best value;\n"
          "eval/loss:last its last), or the path of a config key.\n",
      .options = {{.name = "sort", .value = "KEY", .help = "in this order; a metric's best first"},
                  {.name = "reverse", .value = "", .help = "in the opposite order"},
                  {.name = "filter",
                   .value = "KEY=VALUE[,VALUE]",
                   .help = "only runs with one of the values; name=gpt* is a pattern",
                   .many = true},
                  {.name = "metric",
                   .value = "NAME",
                   .help = "the metrics to show: train/loss eval/loss",
                   .many = true},
                  {.name = "json", .value = "", .help = "as JSON"},
                  {.name = "csv",
                   .value = "",
                   .help = "as CSV, with a column for each key that "
                           "differs"}},
      .exits = {3, 4},
      .run = run_runs};
}

}  // namespace lockstep
