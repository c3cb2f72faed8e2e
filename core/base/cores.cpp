#include "core/base/cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>

namespace lockstep {
namespace {

/// The path in "0::/system.slice/job", the line of version 2 in /proc/self/cgroup; "/" if there is
/// none.
std::string own_group(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::/")) return line.substr(3);
  return "/";
}

}  // namespace

int online_cores() {
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

std::vector<int> usable_processors() {
  // Larger than any machine's, and so than the kernel's own.
  constexpr int kMaxProcessors = 1 << 16;
  cpu_set_t* set = CPU_ALLOC(kMaxProcessors);
  const std::size_t bytes = CPU_ALLOC_SIZE(kMaxProcessors);
  std::vector<int> out;
  if (set != nullptr && sched_getaffinity(0, bytes, set) == 0)
    for (int i = 0; i < kMaxProcessors; ++i)
      if (CPU_ISSET_S(static_cast<std::size_t>(i), bytes, set)) out.push_back(i);
  CPU_FREE(set);
  if (!out.empty()) return out;
  out.resize(static_cast<std::size_t>(std::max(online_cores(), 1)));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

int usable_cores() {
  return static_cast<int>(usable_processors().size());
}

std::vector<std::string> control_groups(const std::string& root, const std::string& own) {
  std::vector<std::string> out;
  for (std::filesystem::path group = own_group(own);; group = group.parent_path()) {
    out.push_back(root + group.string());
    if (group == "/") return out;
  }
}

std::optional<double> core_quota(const std::vector<std::string>& groups) {
  std::optional<double> out;
  for (const std::string& group : groups) {
    std::ifstream file(group + "/cpu.max");  // "150000 100000", or "max 100000"
    double quota = 0, period = 0;
    if (!(file >> quota >> period) || quota <= 0 || period <= 0) continue;
    out = std::min(out.value_or(quota / period), quota / period);
  }
  return out;
}

int runnable_threads() {
  const auto quota = core_quota();
  return quota ? std::max(1, std::min(usable_cores(), static_cast<int>(*quota))) : usable_cores();
}

bool has_cores_for(int threads) {
  const double online = online_cores();
  const double cores = std::min(core_quota().value_or(online), online);
  return threads <= cores && runnable_threads() > 1;
}

}  // namespace lockstep
