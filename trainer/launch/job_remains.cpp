#include "trainer/launch/job_remains.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "core/base/clock.h"
#include "watch/proc_file.h"
#include "watch/process_state.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kTimeToLeave{2};
constexpr std::chrono::seconds kTimeToDie{10};  ///< even SIGKILL waits for a disk
constexpr std::chrono::milliseconds kExitPoll{20};

/// Strings, each ended by a zero; empty if they cannot be read.
std::string environment_of(pid_t pid) {
  return read_proc_file(fmt::format("/proc/{}/environ", pid)).value_or("");
}

/// Whether the environment has this string.
bool has_setting(const std::string& environment, const std::string& setting) {
  return ('\0' + environment).find('\0' + setting + '\0') != std::string::npos;
}

/// Whether the environment has a string that begins with `start`.
bool has_variable(const std::string& environment, const std::string& start) {
  return environment.starts_with(start) || environment.find('\0' + start) != std::string::npos;
}

bool has_ended(pid_t pid) {
  return process_state(pid) == ProcessState::kGone;
}

/// Whether the process belongs to the session and is on its way to its end. It gives up its
/// environment first, so that one cannot see whose it is, and then its memory, which takes 0.1 s
/// for each GiB.
bool is_ending(pid_t pid, pid_t session) {
  constexpr unsigned kExiting = 0x4;  // PF_EXITING of the kernel
  const std::string stat = read_proc_file(fmt::format("/proc/{}/stat", pid)).value_or("");
  const std::size_t name_end = stat.rfind(')');  // the name may contain spaces and parentheses
  if (name_end == std::string::npos || parse_process_state(stat) == ProcessState::kGone)
    return false;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string state;
  long parent = 0, group = 0, of_session = 0, terminal = 0, terminal_group = 0;
  unsigned flags = 0;
  fields >> state >> parent >> group >> of_session >> terminal >> terminal_group >> flags;
  return fields && of_session == session && (flags & kExiting) != 0;
}

template <class F>
void for_each_entry(const fs::path& folder, const F& f) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    f(it->path());
}

template <class F>
void for_each_process(const F& f) {
  for_each_entry("/proc", [&](const fs::path& path) {
    const std::string name = path.filename();
    pid_t pid = 0;
    const char* end = name.data() + name.size();
    const auto read = std::from_chars(name.data(), end, pid);
    if (read.ec == std::errc{} && read.ptr == end && pid != getpid()) f(pid);
  });
}

/// Whether a process of this session ends right now. mpirun's ranks are in its session.
bool one_is_ending() {
  bool out = false;
  const pid_t session = getsid(0);
  for_each_process([&](pid_t pid) { out = out || is_ending(pid, session); });
  return out;
}

/// The numbers of the jobs whose PMIx files ("smlockseg-1704067073") lie below the folder.
std::set<std::uint32_t> jobs_of_session(const std::string& folder) {
  constexpr std::string_view kPrefix = "smlockseg-";
  std::set<std::uint32_t> out;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename();
    if (!name.starts_with(kPrefix)) continue;
    std::uint32_t job = 0;
    const char* end = name.data() + name.size();
    const auto read = std::from_chars(name.data() + kPrefix.size(), end, job);
    if (read.ec == std::errc{} && read.ptr == end) out.insert(job);
  }
  return out;
}

/// Whether a file is "vader_segment.<host>.<uid>.<job in hexadecimal>.<rank>" of this user and job.
bool is_segment(const std::string& name, std::uint32_t job) {
  if (!name.starts_with("vader_segment.")) return false;
  const std::size_t rank = name.rfind('.');
  const std::string end = fmt::format(".{}.{:x}", geteuid(), job);
  return name.substr(0, rank).ends_with(end);
}

}  // namespace

std::string make_job_token() {
  std::random_device random;
  std::string out;
  for (int i = 0; i < 4; ++i) out += fmt::format("{:08x}", random());
  return out;
}

std::vector<pid_t> ranks_of(pid_t mpirun) {
  std::vector<pid_t> out;
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", mpirun));
  for (pid_t pid = 0; children >> pid;) {
    if (has_variable(environment_of(pid), "OMPI_COMM_WORLD_RANK=") && !has_ended(pid))
      out.push_back(pid);
  }
  return out;
}

std::vector<pid_t> processes_with(const std::string& variable, const std::string& value) {
  std::vector<pid_t> out;
  const std::string setting = fmt::format("{}={}", variable, value);
  for_each_process([&](pid_t pid) {
    if (has_setting(environment_of(pid), setting) && !has_ended(pid)) out.push_back(pid);
  });
  return out;
}

std::vector<pid_t> processes_of_job(const std::string& token) {
  return processes_with(kJobTokenVariable, token);
}

int end_processes_of_job(const std::string& token) {
  const SteadyClock clock;
  const std::int64_t begin_ns = clock.now_ns();
  std::set<pid_t> killed;
  while (true) {
    const std::vector<pid_t> left = processes_of_job(token);
    const std::chrono::nanoseconds waited(clock.now_ns() - begin_ns);
    const bool ended = left.empty() && !one_is_ending();
    if (ended || waited > kTimeToLeave + kTimeToDie) return static_cast<int>(killed.size());
    if (waited > kTimeToLeave) {
      for (const pid_t pid : left)
        if (kill(pid, SIGKILL) == 0) killed.insert(pid);
    }
    std::this_thread::sleep_for(kExitPoll);
  }
}

void remove_segments(const std::string& folder) {
  for (const std::uint32_t job : jobs_of_session(folder)) {
    for_each_entry("/dev/shm", [&](const fs::path& path) {
      std::error_code error;  // a file that cannot be removed is not ours
      if (is_segment(path.filename(), job)) fs::remove(path, error);
    });
  }
}

}  // namespace lockstep
