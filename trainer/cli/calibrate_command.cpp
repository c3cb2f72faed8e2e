#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <ostream>

#include "core/base/duration.h"
#include "core/base/error.h"
#include "core/kernels/base/libraries.h"
#include "data/files/read_text.h"
#include "trainer/calibrate/all_reduce.h"
#include "trainer/calibrate/calibrate.h"
#include "trainer/calibrate/limits_table.h"
#include "trainer/cli/commands.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/launch/launch.h"
#include "trainer/machine/limits_file.h"
#include "trainer/machine/machine.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

/// Limit of a job that measures sums; it takes about three. After it the sums are left out.
constexpr double kMaxJobSeconds = 20;

constexpr const char* kOwn = "auto";  ///< --show without a file

/// A folder for one file that another process writes.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    path_ = (fs::temp_directory_path() / "lockstep-calibrate-XXXXXX").string();
    LS_USER_CHECK(mkdtemp(path_.data()) != nullptr, "cannot make the folder {}", path_);
  }
  ~TemporaryFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The sums of this job's ranks; ranks other than 0 have no further work.
std::vector<AllReduceTime> sums_of_this_job(const CommandCall& call) {
  const auto communicator = make_communicator({}, call.settings, call.watch);
  std::vector<AllReduceTime> out =
      communicator->size() > 1 ? measure_all_reduce(*communicator, call.arguments.has("quick"))
                               : std::vector<AllReduceTime>{};
  communicator->finish();
  return out;
}

/// Appends the sums of a job of `ranks` on this machine to `sums`. Returns the exit code if a
/// signal asked this process to end; else 0.
int add_sums_of_job(int ranks, const CommandCall& call, std::vector<AllReduceTime>& sums) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/sums.json";
  LaunchOptions options;
  options.ranks = ranks;
  options.command = {"calibrate", "--all-reduce", "--output", file};
  if (call.arguments.has("quick")) options.command.emplace_back("--quick");
  options.max_seconds = kMaxJobSeconds;
  const auto leave_out = [&](const std::string& why) {
    std::cerr << fmt::format("lockstep: warning: sums over {} ranks are left out: {}\n", ranks,
                             why);
  };
  try {
    const int code = launch(options);
    if (code == static_cast<int>(ErrorKind::kPreempted) || code > 128) return code;
    if (code != 0) {
      leave_out(fmt::format("the job ended with code {}", code));
      return 0;
    }
    const MachineLimits limits = parse_limits(read_text(file), file);
    sums.insert(sums.end(), limits.all_reduce.begin(), limits.all_reduce.end());
  } catch (const Error& e) {
    leave_out(e.what());
  }
  return 0;
}

/// The numbers of ranks of the jobs that measure sums on this machine.
std::vector<int> ranks_of_jobs(int cores) {
  std::vector<int> out;
  for (const int ranks : {2, 4})
    if (ranks <= cores) out.push_back(ranks);
  return out;
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
                            arguments.has("quick") ? "a few seconds" : "about half a minute")
             << std::flush;
  call.watch.activity().begin(Phase::kPrepare, -1, "calibration");
  std::vector<AllReduceTime> sums;
  if (settings.under_launcher) {
    sums = sums_of_this_job(call);
    if (settings.world_rank != 0) return 0;
  } else {
    for (const int ranks : ranks_of_jobs(usable_cores()))
      if (const int code = add_sums_of_job(ranks, call, sums)) return code;
  }
  limit_onednn(target);
  MachineLimits limits = measure_machine({.target = target,
                                          .cores = usable_cores(),
                                          .quick = arguments.has("quick"),
                                          .activity = call.watch.activity()});
  limits.all_reduce = std::move(sums);
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
          "lockstep's own kernels. The file in the cache folder is for all machines of this kind;\n"
          "without it lockstep uses default limits. \"~\" marks a figure that differed between "
          "rounds\n"
          "by more than a tenth, probably because of other load.\n"
          "Under mpirun the sums are those over the job's ranks.\n",
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
                   .value = "",
                   .help = "under mpirun: only the sums over this job's ranks, not kept"}},
      .run = run_calibrate};
}

}  // namespace lockstep
