#include "trainer/machine/machine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <span>
#include <sstream>
#include <string_view>

#include "core/base/cores.h"
#include "core/base/metrics.h"

namespace lockstep {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

/// The number in a one-line file; kUnlimited if there is none ("max").
std::uint64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : kUnlimited;
}

/// The sum of these entries of a memory.stat; 0 if there are none.
std::uint64_t sum_of_entries(const std::string& path, std::span<const std::string_view> names) {
  std::ifstream file(path);
  std::uint64_t out = 0;
  std::string name;
  for (std::uint64_t value = 0; file >> name >> value;)
    if (std::ranges::find(names, name) != names.end()) out += value;
  return out;
}

/// The memory that the control group of this folder still allows. Cached files count as free: they
/// give way.
std::uint64_t available_in_group(const std::string& folder) {
  constexpr std::string_view kCached[] = {"inactive_file", "active_file", "slab_reclaimable"};
  const std::uint64_t limit = number_in(folder + "/memory.max");
  std::uint64_t used = number_in(folder + "/memory.current");
  if (limit == kUnlimited || used == kUnlimited) return kUnlimited;
  used -= std::min(used, sum_of_entries(folder + "/memory.stat", kCached));
  return limit > used ? limit - used : 0;
}

std::string after_colon(const std::string& line) {
  const std::size_t at = line.find(": ");
  return at == std::string::npos ? "" : line.substr(at + 2);
}

/// The number of pages in /proc/self/statm at this position, in bytes; 0 if unknown.
std::uint64_t own_pages(int position) {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  for (int i = 0; i <= position; ++i)
    if (!(file >> pages)) return 0;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

std::optional<std::uint64_t> addressable_memory() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  const std::uint64_t taken = own_pages(0);
  return limit.rlim_cur > taken ? limit.rlim_cur - taken : 0;
}

std::int64_t resident_memory() {
  return static_cast<std::int64_t>(own_pages(1));
}

std::uint64_t available_in_groups(const std::string& root, const std::string& own) {
  std::uint64_t out = kUnlimited;
  for (const std::string& group : control_groups(root, own))
    out = std::min(out, available_in_group(group));
  return out;
}

std::uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("MemAvailable:")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    std::uint64_t kibibytes = 0;
    if (!(words >> kibibytes)) return 0;
    return std::min(kibibytes * 1024, available_in_groups());
  }
  return 0;
}

bool Processor::has(const std::string& flag) const {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

Processor processor() {
  Processor out;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) break;  // the other cores are assumed to be equal to the first
    if (line.starts_with("model name")) out.name = after_colon(line);
    if (!line.starts_with("flags")) continue;
    std::istringstream words(after_colon(line));
    for (std::string word; words >> word;) out.flags.push_back(word);
  }
  return out;
}

std::vector<std::string> loaded_libraries() {
  std::vector<std::string> out;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* names) {
        std::error_code error;
        const auto file = std::filesystem::canonical(info->dlpi_name, error);
        if (!error) static_cast<std::vector<std::string>*>(names)->push_back(file.filename());
        return 0;
      },
      &out);
  std::sort(out.begin(), out.end());
  return out;
}

std::string write_problem(const std::string& folder, std::uint64_t bytes) {
  const int fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) return fmt::format("no file can be made in it: {}", std::strerror(errno));
  const bool written = pwrite(fd, "x", 1, 0) == 1;
  const std::string cause = std::strerror(errno);
  close(fd);
  if (!written) return fmt::format("nothing can be written to it: {}", cause);
  struct statvfs info {};
  if (statvfs(folder.c_str(), &info) != 0) return std::strerror(errno);
  const std::uint64_t free = std::uint64_t{info.f_bavail} * info.f_frsize;
  if (free >= bytes) return "";
  return fmt::format("only {} are free, {} may be needed", format_bytes(static_cast<double>(free)),
                     format_bytes(static_cast<double>(bytes)));
}

}  // namespace lockstep
