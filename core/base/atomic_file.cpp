#include "core/base/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

namespace lockstep {
namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path, ErrorKind kind) {
  if (::access(path.c_str(), F_OK) == 0) return true;
  if (errno != ENOENT) raise_errno(kind, path);
  return false;
}

PosixFile open_temporary(const std::string& path, ErrorKind kind, unsigned mode) {
  const std::string name = fs::path(path).filename().string();
  constexpr int kMaxAttempts = 1000;
  for (int n = 0; n < kMaxAttempts; ++n) {
    PosixFile file = PosixFile::create(
        fmt::format("{}/.{}.{}-{}.tmp", parent_folder(path), name, ::getpid(), n), kind, mode);
    // Between its creation and its lock another writer may have taken the file for stale.
    if (file.is_open() && exists(file.path(), kind)) return file;
  }
  raise(kind, "cannot create a temporary file for {}: {} names are taken", path, kMaxAttempts);
}

// A lock that can be taken means that the writer is gone. The file is removed under the lock: a
// writer that has just created it sees the lock, or sees the file gone, and takes another name.
bool remove_if_writer_is_dead(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  const bool removed = ::flock(fd, LOCK_EX | LOCK_NB) == 0 && ::unlink(path.c_str()) == 0;
  ::close(fd);
  return removed;
}

}  // namespace

std::string parent_folder(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

AtomicFile::AtomicFile(const std::string& path, ErrorKind kind, unsigned mode)
    : path_(path), file_(open_temporary(path, kind, mode)) {}

AtomicFile::~AtomicFile() {
  if (!committed_) ::unlink(file_.path().c_str());
}

void AtomicFile::commit() {
  file_.sync();
  if (std::rename(file_.path().c_str(), path_.c_str()) != 0) {
    raise_errno(file_.error_kind(), fmt::format("cannot rename {} to {}", file_.path(), path_));
  }
  committed_ = true;
  sync_folder(parent_folder(path_), file_.error_kind());
}

std::vector<std::string> remove_stale_temporaries(const std::string& folder,
                                                  const std::string& prefix) {
  std::vector<std::string> removed;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (!name.starts_with("." + prefix) || !name.ends_with(".tmp")) continue;
    if (remove_if_writer_is_dead(entries->path().string())) removed.push_back(name);
  }
  std::sort(removed.begin(), removed.end());
  return removed;
}

}  // namespace lockstep
