#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <ostream>

#include "core/base/error.h"
#include "core/base/host_memory.h"
#include "trainer/apps/run_planner.h"
#include "trainer/cli/commands.h"
#include "trainer/cli/exit_codes.h"
#include "trainer/run/run_lock.h"
#include "trainer/sweep/journal.h"
#include "trainer/sweep/plan.h"
#include "trainer/sweep/run_sweep_points.h"
#include "trainer/sweep/sweep_text.h"
#include "trainer/telemetry/record.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr int kMostJobs = 1024;
constexpr int kMostDraws = 10'000;
constexpr int kMostHalving = 100;
constexpr int kEndedAtOnce = 128 + 2;

SweepRequest request_of(const CommandCall& call) {
  const Arguments& arguments = call.arguments;
  const std::vector<std::string>& words = arguments.positionals();
  SweepRequest out{.config = words[0], .words = {words.begin() + 1, words.end()}};
  out.random = static_cast<int>(arguments.integer("random", 1, kMostDraws).value_or(0));
  const auto seed = arguments.integer("seed", 0, std::numeric_limits<std::int64_t>::max());
  LS_USER_CHECK(!seed || out.random > 0, "--seed is that of the draws of --random N");
  out.seed = static_cast<std::uint64_t>(seed.value_or(0));
  out.metric = arguments.value("metric").value_or("eval/loss");
  out.halving = static_cast<int>(arguments.integer("halving", 2, kMostHalving).value_or(0));
  out.name = arguments.value("name").value_or("");
  LS_USER_CHECK(
      !arguments.has("name") || (!out.name.empty() && out.name != "." && out.name != ".." &&
                                 out.name.find('/') == std::string::npos),
      "--name must be the name of a folder inside run.dir, not '{}'", out.name);
  return out;
}

/// Error kUsage for a metric that the runs will not have. What cannot be known without starting
/// them is not asked here: a first point that cannot open its data says so when it runs.
void check_metric_of_points(const CommandCall& call, const SweepRequest& request,
                            const SweepPlan& plan) {
  TelemetryRecord record;
  const bool is_of_speed =
      set_field(record, request.metric, 0) && record.evaluations.empty() && record.train.empty();
  if (is_of_speed) return;
  std::vector<std::string> names;
  try {
    const Config config =
        load_config(request.config, call.registry, plan.points.front().overrides).config;
    names = planner_for_unknown_device(config, call.registry).metrics(config);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInternal) throw;
    return;
  }
  LS_USER_CHECK(std::ranges::find(names, request.metric) != names.end(),
                "--metric {}: its runs will not measure it; they have {}, and what every run has: "
                "lr, grad_norm, perf/step_ms (metrics.jsonl)",
                request.metric, fmt::join(names, ", "));
}

/// The journal of a sweep that goes on, or of one that begins.
SweepJournal open_journal(const SweepRequest& request, const SweepPlan& plan, bool retries,
                          std::ostream& out) {
  SweepJournal fresh = new_journal(request, plan);
  std::optional<SweepJournal> old = read_journal(plan.folder);
  if (!old) {
    std::error_code error;
    LS_USER_CHECK(!fs::exists(plan.folder, error) || fs::is_empty(plan.folder, error),
                  "{} exists and is no sweep's folder: choose another with --name", plan.folder);
    fs::create_directories(plan.folder);
    write_journal(plan.folder, fresh);
    return fresh;
  }
  LS_USER_CHECK(old->request == fresh.request,
                "{} has a sweep of another config or other words: choose another folder with "
                "--name, or remove that one",
                plan.folder);
  int done = 0;
  for (JournalPoint& point : old->points) {
    if (retries && point.state == PointState::kFailed) point.state = PointState::kWaiting;
    done += point.state != PointState::kWaiting && point.state != PointState::kRunning ? 1 : 0;
  }
  out << fmt::format("{} goes on: {} of {} points have ended\n", plan.folder, done,
                     old->points.size());
  return std::move(*old);
}

int run_sweep_command(const CommandCall& call) {
  const Arguments& arguments = call.arguments;
  LS_USER_CHECK(!call.settings.under_launcher,
                "lockstep sweep starts the ranks of its runs itself (-n N): do not run it under "
                "mpirun");
  const SweepRequest request = request_of(call);
  SweepJobs jobs{.config = request.config};
  jobs.at_once = static_cast<int>(arguments.integer("jobs", 1, kMostJobs).value_or(1));
  jobs.ranks = static_cast<int>(arguments.integer("ranks", 1, kMostJobs).value_or(1));
  const SweepPlan plan = plan_sweep(request, call.registry);
  if (!read_journal(plan.folder)) check_metric_of_points(call, request, plan);
  if (arguments.has("dry-run")) {
    for (const PlannedPoint& point : plan.points) call.out << point.name << "\n";
    return 0;
  }
  jobs.folder = plan.folder;
  if (arguments.has("jobs") && !plan.sets_threads)
    jobs.threads = threads_for(jobs.at_once, jobs.ranks);
  jobs.say = [&](const std::string& text) { call.out << text << "\n" << std::flush; };
  fs::create_directories(plan.folder);
  LS_USER_CHECK(!is_locked(plan.folder), "another sweep runs in {}: {}", plan.folder,
                describe_lock_holder(plan.folder));
  const RunLock lock(plan.folder, SettingsOf::kConfig);
  SweepJournal journal = open_journal(request, plan, arguments.has("retry-failed"), call.out);
  const SweepEnd end = run_sweep_points(jobs, journal);
  call.out << "\n" << swept_text(journal);
  const char* const go_on = "the same command goes on with the points that wait";
  switch (end) {
    case SweepEnd::kFinished: break;
    case SweepEnd::kStopped:
    case SweepEnd::kUnfinished:
      call.out << go_on << "\n";
      return static_cast<int>(ErrorKind::kPreempted);
    case SweepEnd::kInterrupted: call.out << go_on << "\n"; return kEndedAtOnce;
  }
  for (const JournalPoint& point : journal.points)
    if (point.state == PointState::kFailed) return kPointsFailedExit;
  return 0;
}

}  // namespace

CliCommand sweep_command() {
  return {
      .name = "sweep",
      .positionals = {"CONFIG", "key=a,b,c"},
      .rest = "[key=log:LOW..HIGH:COUNT ...]",
      .max_rest = CliCommand::kAnyNumber,
      .help =
          "train a config with all combinations of some keys' values, and sort them by a metric",
      .details =
          "A key takes a list of values, or a range: log:1e-4..1e-2:5 are five values, each the\n"
          "same multiple of the one before, lin:0..0.4:5 five at equal distances. One value is\n"
          "that of all points. Each point is a run in RUN.DIR/NAME-sweep, which has a journal,\n"
          "sweep.json: the same command goes on where it was stopped or killed, and runs no\n"
          "finished point again. Points that fail are noted, and the others go on; then the exit\n"
          "code is 8. SIGINT, SIGTERM or SIGUSR1 lets the runs save, and ends with 75.\n"
          "All configs are checked before anything starts.\n",
      .options =
          {{.name = "jobs",
            .value = "N",
            .help = "points that run at once (1); the cores are divided among them by "
                    "device.threads, unless that is given"},
           {.name = "ranks", .value = "N", .help = "ranks of each run (1)", .letter = 'n'},
           {.name = "random", .value = "N", .help = "draw N points instead of all combinations"},
           {.name = "seed", .value = "S", .help = "of the draws (0)"},
           {.name = "metric",
            .value = "NAME",
            .help = "by which points are compared, at their best (eval/loss)"},
           {.name = "halving",
            .value = "ETA",
            .help = "successive halving: of the points of a rung, one of ETA (3) goes on, with ETA "
                    "times the steps, up to training.max_steps",
            .bare = "3"},
           {.name = "name", .value = "NAME", .help = "of the sweep's folder in run.dir"},
           {.name = "retry-failed",
            .value = "",
            .help = "run failed points of an earlier start again"},
           {.name = "dry-run",
            .value = "",
            .help = "check, print the names of the points, and stop"}},
      .exits = {3, 4, kPointsFailedExit},
      .run = run_sweep_command};
}

}  // namespace lockstep
