#include <filesystem>
#include <iostream>
#include <ostream>

#include "core/base/cores.h"
#include "core/base/duration.h"
#include "core/base/error.h"
#include "core/kernels/base/libraries.h"
#include "trainer/calibrate/all_reduce.h"
#include "trainer/calibrate/calibrate.h"
#include "trainer/calibrate/jobs.h"
#include "trainer/calibrate/limits_table.h"
#include "trainer/calibrate/sample_steps.h"
#include "trainer/cli/commands.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/machine/limits_file.h"
#include "trainer/machine/machine.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOwn = "auto";     ///< --show without a file
constexpr const char* kAnyPath = "any";  ///< --all-reduce without a path
constexpr const char* kOverTcp = "tcp";  ///< --all-reduce=tcp

/// The sums of this job's ranks; ranks other than 0 have no further work.
std::vector<AllReduceTime> sums_of_this_job(const CommandCall& call) {
  const bool over_tcp = call.arguments.value("all-reduce") == kOverTcp;
  Config config;
  if (over_tcp) {
    pretend_hosts();
    config.distributed.allreduce = AllReducePath::kMpi;
  }
  const auto communicator = make_communicator(config, call.settings, call.watch);
  std::vector<AllReduceTime> out =
      communicator->size() > 1 ? measure_all_reduce(*communicator, call.arguments.has("quick"))
                               : std::vector<AllReduceTime>{};
  if (over_tcp)
    for (AllReduceTime& row : out) row.nodes = row.ranks;
  communicator->finish();
  return out;
}

/// What jobs of this machine measure: sums over ranks, then training steps. What fails is left out
/// with a warning, and so is all after it. Returns the exit code if a signal asked this
/// process to end; else 0.
int add_figures_of_jobs(const CommandCall& call, MachineLimits& limits) {
  const bool quick = call.arguments.has("quick");
  const std::vector<int> numbers = ranks_of_jobs(usable_cores());
  const auto warn = [](const JobEnd& end, const std::string& what) {
    if (!end.problem.empty())
      std::cerr << fmt::format("lockstep: warning: {} are left out: {}\n", what, end.problem);
  };
  const auto add_sums = [&](int ranks, const char* how) {
    const JobEnd end = add_sums_of_job(ranks, how, quick, limits.all_reduce);
    warn(end, fmt::format("sums over {} ranks", ranks));
    return end;
  };
  for (const int ranks : numbers)
    if (const JobEnd end = add_sums(ranks, "--all-reduce"); !end.well()) return end.interrupted;
  if (!numbers.empty())
    if (const JobEnd end = add_sums(2, "--all-reduce=tcp"); !end.well()) return end.interrupted;
  const JobEnd end = measure_steps(numbers, quick, call.registry, call.settings.max_isa,
                                   call.watch.activity(), limits);
  warn(end, "training steps");
  return end.interrupted;
}

int show(const CommandCall& call, const std::string& file) {
  const MachineKind machine = this_machine(host_target(call.settings.max_isa));
  const bool own = file == kOwn;
  LS_USER_CHECK(own || fs::exists(file), "{}: No such file", file);
  const FoundLimits found = read_limits(own ? limits_path(call.settings, machine) : file, machine);
  if (!found.warning.empty()) std::cerr << fmt::format("lockstep: warning: {}\n", found.warning);
  call.out << (call.arguments.has("json") ? to_json(found.limits) + "\n" : to_table(found.limits));
  return 0;
}

/// Under mpirun: measures the sums only.
int measure_sums(const CommandCall& call) {
  const std::string path = call.arguments.value("all-reduce").value_or(kAnyPath);
  LS_USER_CHECK(path == kAnyPath || path == kOverTcp, "--all-reduce takes no path but {}, not '{}'",
                kOverTcp, path);
  LS_USER_CHECK(call.settings.under_launcher && call.settings.world_size > 1,
                "--all-reduce measures the sums over the ranks of a job: "
                "mpirun -n 2 lockstep calibrate --all-reduce");
  MachineLimits limits;
  limits.machine = this_machine(host_target(call.settings.max_isa));
  limits.all_reduce = sums_of_this_job(call);
  if (call.settings.world_rank != 0) return 0;
  limits.calibration = calibration_now(call.arguments.has("quick"));
  if (const auto output = call.arguments.value("output"))
    write_limits(*output, limits);
  else
    call.out << (call.arguments.has("json") ? to_json(limits) + "\n" : to_table(limits));
  return 0;
}

int run_calibrate(const CommandCall& call) {
  const Arguments& arguments = call.arguments;
  const Settings& settings = call.settings;
  if (const auto file = arguments.value("show")) return show(call, *file);
  if (arguments.has("all-reduce")) return measure_sums(call);
  const Target target = host_target(settings.max_isa);
  const std::string path =
      arguments.value("output").value_or(limits_path(settings, this_machine(target)));
  LS_USER_CHECK(!path.empty(),
                "there is no cache folder for the file, since neither XDG_CACHE_HOME nor HOME is "
                "set: give --output FILE");
  if (settings.world_rank == 0) check_limits_path(path);
  if (!arguments.has("json") && settings.world_rank == 0)
    call.out << fmt::format("measuring for {}; other load disturbs the measurement\n",
                            arguments.has("quick") ? "a few seconds" : "three to six minutes")
             << std::flush;
  call.watch.activity().begin(Phase::kPrepare, -1, "calibration");
  std::vector<AllReduceTime> sums;
  if (settings.under_launcher) sums = sums_of_this_job(call);
  if (settings.world_rank != 0) return 0;
  limit_onednn(target);
  MachineLimits limits = measure_machine({.target = target,
                                          .cores = usable_cores(),
                                          .quick = arguments.has("quick"),
                                          .activity = call.watch.activity()});
  limits.all_reduce = std::move(sums);
  if (settings.under_launcher)
    limits.steps = read_limits(path, limits.machine).limits.steps;
  else if (const int code = add_figures_of_jobs(call, limits))
    return code;
  write_limits(path, limits);
  if (arguments.has("json"))
    call.out << to_json(limits) << "\n";
  else
    call.out << to_table(limits)
             << fmt::format("written to {} after {}\n", path,
                            readable_time(limits.calibration.seconds));
  return 0;
}

}  // namespace

CliCommand calibrate_command() {
  return {
      .name = "calibrate",
      .positionals = {},
      .help = "measure this machine's limits, with which profiles are compared",
      .details =
          "Measures dots by dtype and size, memory by threads and working set, sums over ranks, "
          "and\n"
          "the cost of launches, clock readings and events: the minimum times of three rounds, "
          "with\n"
          "lockstep's own kernels; and training steps of five small models, for\n"
          "`lockstep foresee --device this-machine`.\n"
          "The file in the cache folder is for all machines of this kind;\n"
          "without it lockstep uses default limits. \"~\" marks a figure that differed between "
          "rounds\n"
          "by more than a tenth, probably because of other load.\n"
          "Under mpirun the sums are those over the job's ranks, and training steps stay as they\n"
          "were measured before.\n",
      .options = {{.name = "output",
                   .value = "FILE",
                   .help = "write there, not to the cache folder"},
                  {.name = "json", .value = "", .help = "print the file's text, not a table"},
                  {.name = "quick",
                   .value = "",
                   .help = "one round of short measurements: figures may be a third too low"},
                  {.name = "show",
                   .value = "FILE",
                   .help = "measure nothing; print what is known, or what FILE says",
                   .bare = kOwn},
                  {.name = "all-reduce",
                   .value = "PATH",
                   .help = "under mpirun: only the sums over this job's ranks, not kept; tcp: as "
                           "if each rank were on a host of its own",
                   .bare = kAnyPath}},
      .exits = {3, 4, 5, 7},
      .run = run_calibrate};
}

}  // namespace lockstep
