#include "trainer/launch/launch_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "trainer/launch/job_remains.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNameStart = "lockstep-";

/// The lock of such a folder: a file in it, without which a folder is something else.
std::string lock_of_folder(const std::string& path) {
  return path + "/.launch";
}

/// Opens the lock's file and takes it, if it is this user's and nobody else has it; else -1.
int take_lock(const std::string& path, int flags) {
  const int fd = ::open(lock_of_folder(path).c_str(),
                        O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | flags, 0600);
  if (fd < 0) return -1;
  struct stat status {};
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
      ::flock(fd, LOCK_EX | LOCK_NB) == 0)
    return fd;
  ::close(fd);
  return -1;
}

bool is_own_folder(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid();
}

/// Removes what is left of launchers that were killed. The lock makes sure that only one does, and
/// that the owner of a new folder, which it has not locked yet, finds it gone.
void remove_leftovers(const std::string& parent) {
  std::error_code error;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    const std::string path = it->path().string();
    if (!it->path().filename().string().starts_with(kNameStart) || !is_own_folder(path)) continue;
    const int fd = take_lock(path, 0);
    if (fd < 0) continue;
    if (processes_with("TMPDIR", path).empty()) {  // else mpirun is still ending
      remove_segments(path);
      std::error_code stays;
      fs::remove_all(path, stays);
    }
    ::close(fd);
  }
}

}  // namespace

LaunchFolder::LaunchFolder(const std::string& parent) {
  const std::string in = fs::canonical(parent).string();  // the same name for the next launcher
  remove_leftovers(in);
  constexpr int kMaxAttempts = 100;
  for (int i = 0; i < kMaxAttempts && lock_ < 0; ++i) {
    path_ = fmt::format("{}/{}XXXXXX", in, kNameStart);
    if (::mkdtemp(path_.data()) == nullptr)
      raise_errno(ErrorKind::kUsage,
                  fmt::format("cannot make a folder for temporary files in {} (TMPDIR)", parent));
    lock_ = take_lock(path_, O_CREAT | O_EXCL);
    if (lock_ >= 0 && ::access(lock_of_folder(path_).c_str(), F_OK) != 0)
      ::close(std::exchange(lock_, -1));  // another launcher has just taken it for a leftover
  }
  LS_USER_CHECK(lock_ >= 0, "cannot make and lock a file in {}", path_);
}

LaunchFolder::~LaunchFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
  ::close(lock_);
}

}  // namespace lockstep
