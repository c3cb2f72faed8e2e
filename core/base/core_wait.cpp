#include "core/base/core_wait.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace lockstep {

CoreWait::~CoreWait() {
  for (const Thread& thread : threads_)
    if (thread.fd >= 0) close(thread.fd);
}

void CoreWait::add_this_thread() {
  const std::lock_guard lock(mutex_);
  threads_.push_back({.id = static_cast<int>(syscall(SYS_gettid))});
}

std::optional<std::int64_t> CoreWait::total_ns(Thread& thread) {
  if (thread.fd < 0) {
    const std::string path = fmt::format("/proc/self/task/{}/schedstat", thread.id);
    thread.fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (thread.fd < 0) return std::nullopt;
  }
  // "RAN WAITED SLICES": nanoseconds, nanoseconds, a count.
  std::array<char, 96> text{};
  if (pread(thread.fd, text.data(), text.size() - 1, 0) <= 0) return std::nullopt;
  const auto space = std::ranges::find(text, ' ');
  if (space == text.end()) return std::nullopt;
  return std::strtoll(&*space, nullptr, 10);
}

std::optional<std::int64_t> CoreWait::read_longest_ns() {
  const std::lock_guard lock(mutex_);
  std::optional<std::int64_t> out;
  for (Thread& thread : threads_) {
    const std::optional<std::int64_t> total = total_ns(thread);
    if (!total) continue;
    out = std::max(out.value_or(0), *total - thread.total);
    thread.total = *total;
  }
  return out;
}

}  // namespace lockstep
