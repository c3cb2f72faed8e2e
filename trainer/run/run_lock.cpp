#include "trainer/run/run_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
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

/// The lock of a training. It is a lock for writing: a reader of the file, even one that locks it
/// for reading or with flock(2), cannot keep a training out, nor one that may not write the file.
struct flock lock_of(short type) {
  struct flock out {};
  out.l_type = type;
  out.l_whence = SEEK_SET;
  return out;
}

/// Whether another process has the lock. A lock for reading does not count, and a file system
/// without locks is free.
bool has_writer(int fd) {
  struct flock other = lock_of(F_RDLCK);
  return fcntl(fd, F_OFD_GETLK, &other) == 0 && other.l_type == F_WRLCK;
}

/// Whether another process still holds the lock after kPatience.
bool is_taken(int fd) {
  for (auto waited = kLockPoll * 0; waited < kPatience; waited += kLockPoll) {
    struct flock own = lock_of(F_WRLCK);
    if (fcntl(fd, F_OFD_SETLK, &own) == 0 || !has_writer(fd)) return false;
    std::this_thread::sleep_for(kLockPoll);
  }
  return true;
}

/// -1 if it cannot be opened: errno tells why.
int open_lock(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  struct stat status {};
  if (fd < 0 || (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))) return fd;
  close(fd);
  errno = EINVAL;
  return -1;
}

/// Whether this entry of /proc/PID/fdinfo says that the descriptor has a lock for writing.
bool has_write_lock(const std::filesystem::path& info) {
  std::ifstream lines(info);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("lock:") && line.find("WRITE") != std::string::npos) return true;
  return false;
}

bool holds_lock(const std::filesystem::path& process, const std::filesystem::path& lock) {
  std::error_code error;
  std::filesystem::directory_iterator files(process / "fd", error), end;
  for (; !error && files != end; files.increment(error)) {
    std::error_code gone;
    if (std::filesystem::equivalent(files->path(), lock, gone) && !gone &&
        has_write_lock(process / "fdinfo" / files->path().filename()))
      return true;
  }
  return false;
}

std::string words_of_process(const std::filesystem::path& process) {
  std::ifstream file(process / "cmdline", std::ios::binary);
  std::string words((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!words.empty() && words.back() == '\0') words.pop_back();
  std::ranges::replace(words, '\0', ' ');
  return words;
}

}  // namespace

RunLock::RunLock(const std::string& run_folder, SettingsOf of) {
  const std::string path = lock_path(run_folder);
  fd_ = open_lock(path, O_RDWR | O_CREAT);
  if (fd_ < 0 && (errno == ELOOP || errno == EINVAL || errno == ENXIO || errno == EISDIR))
    raise(ErrorKind::kUsage, "{}: not a regular file; remove it", path);
  if (fd_ < 0) raise_errno(ErrorKind::kUsage, "cannot open " + path);
  if (!is_taken(fd_)) return;
  close(fd_);
  raise(ErrorKind::kUsage,
        "another training is writing to {}; wait for its end or choose another {}", run_folder,
        setting_name(of, "run.name"));
}

bool is_locked(const std::string& run_folder) {
  const int fd = open_lock(lock_path(run_folder), O_RDONLY);
  if (fd < 0) return false;
  const bool taken = has_writer(fd);
  close(fd);
  return taken;
}

std::string describe_lock_holder(const std::string& run_folder) {
  namespace fs = std::filesystem;
  const fs::path lock = lock_path(run_folder);
  std::error_code error;
  fs::directory_iterator processes("/proc", error), end;
  for (; !error && processes != end; processes.increment(error)) {
    const std::string name = processes->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (holds_lock(processes->path(), lock))
      return fmt::format("process {} ({})", name, words_of_process(processes->path()));
  }
  return "a process of another user or host";
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
