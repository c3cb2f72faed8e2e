#include "trainer/launch/job_remains.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <thread>

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using MonotonicClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTimeToLeave{2};
constexpr std::chrono::seconds kTimeToDie{10};  ///< even SIGKILL waits for a disk
constexpr std::chrono::milliseconds kExitPoll{20};

/// Empty if it cannot be read.
std::string read_process_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string environment_of(pid_t pid) {
  return read_process_file(fmt::format("/proc/{}/environ", pid));
}

/// Whether the environment (strings, each ended by a zero) has one that begins with `start`.
bool has_variable(const std::string& environment, const std::string& start) {
  return environment.starts_with(start) || environment.find('\0' + start) != std::string::npos;
}

bool is_zombie(pid_t pid) {
  const std::string stat = read_process_file(fmt::format("/proc/{}/stat", pid));
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || stat.substr(name_end + 1, 2) == " Z";
}

template <class F>
void for_each_entry(const fs::path& folder, const F& f) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    f(it->path());
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
    if (has_variable(environment_of(pid), "OMPI_COMM_WORLD_RANK=") && !is_zombie(pid))
      out.push_back(pid);
  }
  return out;
}

std::vector<pid_t> processes_of_job(const std::string& token) {
  std::vector<pid_t> out;
  const std::string variable = fmt::format("{}={}", kJobTokenVariable, token);
  for_each_entry("/proc", [&](const fs::path& path) {
    const std::string name = path.filename();
    pid_t pid = 0;
    const char* end = name.data() + name.size();
    const auto read = std::from_chars(name.data(), end, pid);
    if (read.ec != std::errc{} || read.ptr != end || pid == getpid()) return;
    if (has_variable(environment_of(pid), variable) && !is_zombie(pid)) out.push_back(pid);
  });
  return out;
}

int end_processes_of_job(const std::string& token) {
  const auto start = MonotonicClock::now();
  std::set<pid_t> killed;
  while (true) {
    const std::vector<pid_t> left = processes_of_job(token);
    const auto waited = MonotonicClock::now() - start;
    if (left.empty() || waited > kTimeToLeave + kTimeToDie) return static_cast<int>(killed.size());
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
