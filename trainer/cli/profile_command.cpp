#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "core/base/error.h"
#include "trainer/cli/commands.h"
#include "trainer/run/saved_run.h"
#include "trainer/statistics/profile_text.h"
#include "trainer/telemetry/core_times.h"
#include "trainer/telemetry/cuts_file.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kShownRows = 20;

/// The contents of a run's folder.
struct RunFiles {
  std::vector<RankProfile> profiles;
  int ranks = 1;            ///< of the job that wrote the profiles
  CauseTally compilations;  ///< of rank 0, or of the requested rank
  std::vector<Cuts::Row> cuts;
  std::string cores;  ///< what would use more of the cores' time
};

/// Of the last job on the run. Error kUsage if its files cannot be read.
std::string judge_cores(const SavedRun& run, const Registry& registry) {
  const std::vector<RunLife> lives = run.history();
  if (lives.empty()) return "";
  CoreTimesSum sum;
  for (const TelemetryRecord& record : run.good_metrics().records)
    if (record.step > lives.back().step) sum.add(record);
  CoreLayout layout{.threads = static_cast<int>(lives.back().threads), .ranks = lives.back().ranks};
  const BatchConfig batch = run.config_file(registry).batch;
  if (batch.micro_batch_size > 0) {
    layout.micro_batch_size = batch.micro_batch_size;
    layout.micro_batches = batch.global_batch_size / (batch.micro_batch_size * layout.ranks);
  }
  return core_advice(sum.means(), layout);
}

/// The rest of the profile does not need these files.
std::string advice_on_cores(const SavedRun& run, const Registry& registry) {
  try {
    return judge_cores(run, registry);
  } catch (const Error& error) {
    return fmt::format("the use of cores is not known: {}", error.what());
  }
}

RunFiles read_run(const SavedRun& run, const Registry& registry, std::optional<std::int64_t> rank) {
  RunFiles out;
  out.profiles = run.profiles();
  if (!out.profiles.empty()) out.ranks = out.profiles[0].ranks;
  if (rank) std::erase_if(out.profiles, [&](const RankProfile& p) { return p.rank != *rank; });
  out.compilations = run.compilations(static_cast<int>(rank.value_or(0)));
  out.cuts = run.cuts();
  out.cores = advice_on_cores(run, registry);
  return out;
}

/// A note on missing profiles, or on how to get profiles.
std::string missing(const RunFiles& files, std::optional<std::int64_t> rank,
                    const std::string& run) {
  if (!files.profiles.empty()) {
    const auto absent = static_cast<std::size_t>(files.ranks) - files.profiles.size();
    return rank || absent == 0 ? ""
                               : fmt::format("profiles of {} of {} ranks are not in {}\n", absent,
                                             files.ranks, (fs::path(run) / "profile").string());
  }
  if (rank && fs::exists(fs::path(run) / "profile"))
    return fmt::format("there is no profile of rank {}\n", *rank);
  return "no times: a run with profile.ledger=true writes them when it ends\n";
}

void print_text(const RunFiles& files, GroupBy by, std::ostream& out) {
  const std::string again = files.compilations.table();
  const std::string reads = describe_reads(files.cuts);
  for (const std::string& text : {again, reads})
    if (!text.empty()) out << text << "\n";
  if (const std::int64_t programs = files.compilations.misses(); again.empty() && programs > 0)
    out << fmt::format("nothing was recompiled: {} program{} compiled or loaded\n", programs,
                       programs == 1 ? "" : "s");
  if (reads.empty() && !files.cuts.empty()) out << "no read of a value stopped a step\n";
  if (!files.cores.empty()) out << files.cores << "\n";
  if (files.profiles.empty()) return;
  out << describe_steps(files.profiles);
  if (files.profiles[0].steps > 0) out << describe_rows(files.profiles, by, kShownRows);
}

void print_json(const RunFiles& files, GroupBy by, std::ostream& out) {
  OrderedJson json = files.profiles.empty()
                         ? OrderedJson::object()
                         : OrderedJson::parse(statistics_json(files.profiles, by));
  json["misses"] = files.compilations.misses();
  json["compilations"] = OrderedJson::parse(causes_json(files.compilations));
  json["cuts"] = OrderedJson::parse(to_json(files.cuts));
  out << json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) << "\n";
}

int run_profile(const CommandCall& call) {
  const Arguments& arguments = call.arguments;
  const std::string run = arguments.positionals().at(0);
  const std::string by_name = arguments.value("by").value_or("class");
  const auto by = parse_group_by(by_name);
  LS_USER_CHECK(by.has_value(), "--by must be class, op, module or line, not '{}'", by_name);
  const auto rank = arguments.integer("rank", 0, std::numeric_limits<int>::max());
  LS_USER_CHECK(!arguments.has("json") || !arguments.has("csv"), "--json or --csv, not both");
  const RunFiles files = read_run(SavedRun(run), call.registry, rank);
  const std::string note = missing(files, rank, run);
  if (arguments.has("json")) {
    print_json(files, *by, call.out);
  } else if (arguments.has("csv")) {
    LS_USER_CHECK(!files.profiles.empty(), "{}: {}", run, note);
    call.out << rows_csv(files.profiles, *by);
  } else {
    print_text(files, *by, call.out);
    call.out << note;
  }
  return 0;
}

}  // namespace

CliCommand profile_command() {
  return {
      .name = "profile",
      .positionals = {"RUN"},
      .help =
          "print a run's recompilations and their causes, the reads that stopped it, and its times",
      .details =
          "RUN is a run's folder: nothing is run. Compilations are printed also for a run that is\n"
          "still running or was killed; reads and times only for one that has ended. Times are\n"
          "those of a run with profile.ledger=true, means over its ranks: ms per step, share of "
          "the\n"
          "step, the minimum of a step (least), commands per step, rates, the part of the "
          "machine's\n"
          "limits that `lockstep calibrate` measured (limit), and how much longer than the mean "
          "the\n"
          "slowest rank takes (skew). In a run with device.profile also the time on that device "
          "(sim "
          "ms)\n"
          "and the part of its limits (sim limit).\n",
      .options = {{.name = "by",
                   .value = "GROUP",
                   .help = "a row for each class of work, op, module or line of the source: class "
                           "(the default), op, module, line"},
                  {.name = "rank", .value = "N", .help = "of this rank alone"},
                  {.name = "json", .value = "", .help = "all rows, as JSON"},
                  {.name = "csv", .value = "", .help = "all rows, as CSV"}},
      .exits = {3, 4},
      .run = run_profile};
}

}  // namespace lockstep
