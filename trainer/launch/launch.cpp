#include "trainer/launch/launch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "checkpoint/folder.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/settings.h"
#include "trainer/launch/held_signals.h"
#include "trainer/launch/job_remains.h"
#include "trainer/launch/last_ranks.h"
#include "trainer/launch/launch_folder.h"
#include "trainer/launch/lost_hosts.h"
#include "trainer/launch/mpirun_daemons.h"
#include "trainer/launch/mpirun_job.h"
#include "trainer/launch/start_watch.h"
#include "watch/job_addresses.h"
#include "watch/side_hub.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using Moment = std::chrono::nanoseconds;  ///< of a clock

constexpr int kSignalled = 128;  ///< exit codes above it name the signal that ended a process
constexpr int kInterrupted = kSignalled + SIGINT;
/// Between SIGUSR1s: one that comes before a process can take it is lost.
constexpr std::chrono::seconds kRepeat{1};
constexpr std::chrono::seconds kSecondInterrupt{1};

template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print(stderr, "lockstep launch: {}\n", fmt::format(format, std::forward<Args>(args)...));
}

/// The checkpoints of a run, to detect whether a job has written one.
class Saved {
 public:
  explicit Saved(const std::string& folder) : folder_(folder), at_start_(list()) {}

  bool changed() const {
    for (const File& file : list())
      if (!at_start_.contains(file)) return true;
    return false;
  }

 private:
  using File = std::pair<std::string, fs::file_time_type>;
  std::set<File> list() const {
    std::set<File> out;
    if (folder_.empty()) return out;
    for (const CheckpointFile& file : list_checkpoints(folder_)) {
      std::error_code error;
      const auto time = fs::last_write_time(file.path, error);
      if (!error) out.emplace(file.path, time);
    }
    return out;
  }

  std::string folder_;
  std::set<File> at_start_;
};

/// The signals that asked the job to stop, over all restarts.
struct StopRequest {
  std::optional<Moment> since;
  std::optional<Moment> interrupted;  ///< by the first SIGINT
  bool at_once = false;

  void take(int signal_number, Moment now) {
    if (signal_number == 0 || signal_number == SIGCHLD) return;
    if (!since) {
      say("asked to stop: the ranks save and end");
      since = now;
    }
    if (signal_number != SIGINT) return;
    if (!interrupted) interrupted = now;
    at_once = at_once || now - *interrupted >= kSecondInterrupt;
  }
};

/// Sets an environment variable, which mpirun and the ranks of this host inherit, while this lives;
/// then sets it to `after`, or unsets it. No other thread reads the environment.
class Variable {
 public:
  Variable(const char* name, const std::string& value, std::string after = "")
      : name_(name), after_(std::move(after)) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (after_.empty())
      unsetenv(name_);
    else
      setenv(name_, after_.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string after_;
};

/// Identifies this job's processes and files, over all restarts.
struct JobNames {
  std::string token = make_job_token();
  std::string parent = usable_temporary_folder();
  LaunchFolder folder{parent};
  Variable token_variable{kJobTokenVariable, token};
  Variable folder_variable{"TMPDIR", folder.path(), parent};
};

constexpr const char* kHubAddress = "LOCKSTEP_WATCH_ADDRESS";
constexpr const char* kHubToken = "LOCKSTEP_WATCH_TOKEN";

/// The hosts of the job, as far as they are known before mpirun starts.
std::vector<std::string> hosts_of(const LaunchOptions& options) {
  std::vector<std::string> out;
  out.reserve(options.hosts.size());
  for (const Host& host : options.hosts) out.push_back(host.name);
  if (!options.hostfile.empty()) out = hosts_of_file(options.hostfile);
  return out.empty() && !options.slurm.name.empty() ? node_names(options.slurm) : out;
}

/// The hub for reports on ranks of other nodes, if there are any. Its address is in the ranks'
/// environment: "" if there is none.
class Hub {
 public:
  Hub(const LaunchOptions& options, const std::vector<std::string>& hosts) {
    if (are_this_host(hosts) && (!hosts.empty() || !options.in_allocation)) return;
    hub_.emplace(token_, job_addresses(options.tcp_interfaces, hosts));
    setenv(kHubAddress, hub_->addresses().c_str(), 1);
  }

  /// The reports that the nodes exchange from now on.
  OtherNodes listen() const {
    if (!hub_) return {{}, token_};
    return {{hub_->addresses() + "," + hub_->inner_address()}, token_};
  }

 private:
  SideToken token_ = make_side_token();
  std::optional<SideHub> hub_;
  Variable address_variable_{kHubAddress, ""};
  Variable token_variable_{kHubToken, to_hex(token_)};
};

/// One start of the job.
class Attempt {
 public:
  Attempt(const LaunchOptions& options, const std::vector<std::string>& hosts,
          const std::vector<std::string>& program, const JobNames& names, const Hub& hub)
      : names_(names),
        max_seconds_(options.max_seconds),
        heard_(hub.listen()),
        start_(hosts, options.limits.foreign_abort_s, clock_.now_ns()),
        daemons_(hosts),
        last_ranks_(options.limits, daemons_.hosts()),
        job_(mpirun_words({.ranks = options.ranks,
                           .hosts = options.hosts,
                           .hostfile = options.hostfile,
                           .variables = {kJobTokenVariable, kHubAddress, kHubToken},
                           .as_root = geteuid() == 0},
                          program),
             options.silent) {}

  ~Attempt() {
    job_.end();
    if (const int killed = end_processes_of_job(names_.token); killed > 0)
      say("ended {} processes that mpirun left", killed);
    remove_segments(names_.folder.path());
  }

  /// Waits for its end. The exit code of mpirun, kPeer's if the last ranks or mpirun do not end, or
  /// kInterrupted.
  int wait(const HeldSignals& signals, StopRequest& stop) {
    Moment told{};
    const Moment begin(clock_.now_ns());
    while (true) {
      const int signal_number = signals.take();
      const std::int64_t now_ns = clock_.now_ns();
      const Moment now(now_ns);
      stop.take(signal_number, now);
      if (const auto code = job_.poll()) return *code;
      if (stop.at_once) return kInterrupted;
      if (max_seconds_ > 0 && now - begin > std::chrono::duration<double>(max_seconds_)) {
        say("error: the job has not ended after {} s", max_seconds_);
        return static_cast<int>(ErrorKind::kPeer);
      }
      if (stop.since && now - told >= kRepeat) {
        job_.send(SIGUSR1);
        told = now;
      }
      const RanksInSight ranks = look_at_ranks(job_.pid(), now_ns, heard_);
      has_begun_ = has_begun_ || !ranks.here.empty();
      if (!has_begun_ && ranks.elsewhere.empty()) {
        daemons_.look(job_.pid(), now_ns);
        missing_ = start_.look(now_ns);
      }
      if (!missing_.empty()) {
        if (std::string text = daemons_.describe(); !text.empty())
          missing_.push_back(std::move(text));
        return static_cast<int>(ErrorKind::kPeer);
      }
      const Judgement judgement = last_ranks_.judge(now_ns, ranks);
      for (const std::string& warning : judgement.warnings) say("warning: {}", warning);
      if (judgement.fatal.empty()) continue;
      say("error: {}", judgement.fatal);
      return static_cast<int>(ErrorKind::kPeer);
    }
  }

  /// Whether mpirun has come to start a rank on this host, as far as one could see.
  bool has_begun() const { return has_begun_; }
  /// Why no rank has come to exist, if it was ended for that.
  const std::vector<std::string>& missing() const { return missing_; }
  /// Which daemons mpirun has lost, or had not reached, when it ended by itself; "" if it is not
  /// known.
  std::string lost_daemons() {
    if (!job_.poll()) return "";
    if (const std::vector<std::string> hosts = job_.lost_hosts(); !hosts.empty())
      return fmt::format("mpirun has lost {}, or its daemon there", list_hosts(hosts));
    if (has_begun_ || daemons_.all_connected()) return "";
    return fmt::format("mpirun ended before a rank was seen; shortly before, {}",
                       daemons_.describe());
  }

 private:
  const JobNames& names_;
  double max_seconds_;
  bool has_begun_ = false;
  std::vector<std::string> missing_;
  SteadyClock clock_;
  OtherNodes heard_;
  StartWatch start_;
  MpirunDaemons daemons_;
  LastRanks last_ranks_;
  MpirunJob job_;
};

/// Codes with a specific cause, which would occur again after a restart.
bool is_final(int code) {
  switch (code) {
    case 0:
    case static_cast<int>(ErrorKind::kUsage):
    case static_cast<int>(ErrorKind::kData):
    case static_cast<int>(ErrorKind::kCheckpoint):
    case static_cast<int>(ErrorKind::kNonFinite):
    case static_cast<int>(ErrorKind::kOutOfMemory):
    case static_cast<int>(ErrorKind::kPreempted): return true;
    default: return false;
  }
}

/// 1 is an internal error of a rank or of mpirun; any other code that is not final is a loss.
int code_of_failure(int code) {
  const int internal = static_cast<int>(ErrorKind::kInternal);
  return code == internal ? internal : static_cast<int>(ErrorKind::kPeer);
}

bool is_signal(int code) {
  return code > kSignalled && code <= kSignalled + _NSIG - 1;
}

/// Which signal ended a rank of `lockstep` that should have made it save and end; 0 if none. It had
/// no handler yet: main() begins with that.
int early_stop_of(int code) {
  for (const int number : {SIGUSR1, SIGTERM})
    if (code == kSignalled + number) return number;
  return 0;
}

std::string describe(int code) {
  if (code == static_cast<int>(ErrorKind::kPeer)) return "the job stalled or lost a rank";
  if (code == static_cast<int>(ErrorKind::kInternal)) return "the job failed";
  if (is_signal(code)) return fmt::format("a rank was lost (signal {})", code - kSignalled);
  return fmt::format("a host was lost (mpirun returned {})", code);
}

std::vector<std::string> resumed(std::vector<std::string> program) {
  std::erase_if(program, [](const std::string& word) { return word.starts_with("--resume"); });
  program.emplace_back("--resume");
  return program;
}

/// How one start has ended.
struct Ending {
  int code = 0;
  bool has_begun = false;            ///< a rank has
  std::vector<std::string> missing;  ///< see Attempt
  std::string lost_daemons;          ///< see Attempt
};

/// The job with all of its restarts.
int run_job(const LaunchOptions& options, const HeldSignals& signals, const Saved& saved) {
  const JobNames names;
  const std::vector<std::string> hosts = hosts_of(options);
  const Hub hub(options, hosts);
  const bool is_own = !options.program.empty();
  std::vector<std::string> program{is_own ? options.program
                                          : fs::read_symlink("/proc/self/exe").string()};
  program.insert(program.end(), options.command.begin(), options.command.end());
  StopRequest stop;
  const auto run_once = [&] {
    Attempt attempt(options, hosts, program, names, hub);
    const int code = attempt.wait(signals, stop);
    return Ending{code, attempt.has_begun(), attempt.missing(), attempt.lost_daemons()};
  };
  for (int restarts = 0;; ++restarts) {
    auto [code, has_begun, lost, lost_daemons] = run_once();
    if (stop.at_once) return kInterrupted;
    if (is_final(code)) return code;
    const int early = early_stop_of(code);
    if (early != 0 && (stop.since || !is_own)) {
      if (!stop.since) say("a rank was asked to stop by SIG{}", sigabbrev_np(early));
      if (!is_own) say("the ranks had not begun: there is nothing to save");
      return static_cast<int>(ErrorKind::kPreempted);
    }
    if (stop.since) return code_of_failure(code);
    std::string cause = lost_daemons.empty() ? describe(code) : lost_daemons;
    if (code != static_cast<int>(ErrorKind::kPeer) && !is_signal(code))
      lost = describe_lost_hosts(hosts);
    if (!lost.empty()) cause = fmt::format("{}", fmt::join(lost, "; "));
    if (!lost.empty() && !has_begun) {
      say("error: {}; no restart can cure that", cause);
      return static_cast<int>(ErrorKind::kPeer);
    }
    if (restarts == options.max_restarts) {
      say("{}; {}", cause,
          restarts == 0 ? "--max-restarts is 0" : fmt::format("restarted {} times", restarts));
      return code_of_failure(code);
    }
    const bool has_saved = saved.changed();
    if (has_saved) program = resumed(std::move(program));
    say("{}; restart {} of {}, {}", cause, restarts + 1, options.max_restarts,
        is_own      ? "with the same words"
        : has_saved ? "from the last checkpoint"
                    : "from the start: nothing was saved yet");
  }
}

/// Whether it makes sense to start the job once more in another allocation.
bool is_for_another_allocation(const LaunchOptions& options, const Saved& saved, int code) {
  if (code == static_cast<int>(ErrorKind::kPreempted)) return true;
  return code == static_cast<int>(ErrorKind::kPeer) &&
         (saved.changed() || options.slurm.restarts < options.max_restarts);
}

}  // namespace

int launch(const LaunchOptions& options) {
  const HeldSignals signals;
  const Saved saved(options.checkpoints);
  if (!options.slurm.name.empty()) shield_daemons();
  const int code = run_job(options, signals, saved);
  if (options.requeue && is_for_another_allocation(options, saved, code))
    say("{}", requeue(options.slurm));
  return code;
}

}  // namespace lockstep
