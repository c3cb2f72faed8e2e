#include "trainer/run/run_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr std::chrono::milliseconds kPatience{5000};
constexpr std::chrono::milliseconds kLockPoll{50};

std::string lock_path(const std::string& run_folder) {
  const auto path = std::filesystem::canonical(run_folder);
  return (path.parent_path() / fmt::format(".{}.lock", path.filename().string())).string();
}

/// Whether another process still holds the lock after kPatience. A file system without locks counts
/// as free.
bool is_taken(int fd) {
  for (auto waited = kLockPoll * 0; waited < kPatience; waited += kLockPoll) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return false;
    std::this_thread::sleep_for(kLockPoll);
  }
  return true;
}

}  // namespace

RunLock::RunLock(const std::string& run_folder, SettingsOf of) {
  const std::string path = lock_path(run_folder);
  fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0) raise_errno(ErrorKind::kUsage, "cannot open " + path);
  if (!is_taken(fd_)) return;
  close(fd_);
  raise(ErrorKind::kUsage,
        "another training is writing to {}; wait for its end or choose another {}", run_folder,
        setting_name(of, "run.name"));
}

bool is_locked(const std::string& run_folder) {
  const int fd =
      open(lock_path(run_folder).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  // A training that starts in this moment waits for longer than this lock is held.
  const bool taken = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  return taken;
}

RunLock::~RunLock() {
  if (fd_ >= 0) close(fd_);
}

RunLock::RunLock(RunLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

RunLock& RunLock::operator=(RunLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

}  // namespace lockstep
