#include "core/base/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <span>

namespace lockstep {
namespace {

namespace fs = std::filesystem;

/// True also for a file that cannot be examined: after an error, a file that was just made must be
/// removed.
bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0 || errno != ENOENT;
}

PosixFile open_temporary(const std::string& path, ErrorKind kind, unsigned mode) {
  constexpr std::size_t kLongestName = 200;  // a name may have 255 bytes
  const std::string name = fs::path(path).filename().string().substr(0, kLongestName);
  constexpr int kMaxAttempts = 1000;
  for (int n = 0; n < kMaxAttempts; ++n) {
    PosixFile file =
        PosixFile::create(fmt::format("{}/.{}.{}-{}.tmp", parent_folder(path), name, ::getpid(), n),
                          kind, mode, path);
    // Between its creation and its lock another writer may have taken the file for stale.
    if (file.is_open() && exists(file.path())) return file;
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

/// lstat or stat; nothing if there is no such file.
std::optional<struct stat> status_of(const std::string& path, bool of_link, ErrorKind kind) {
  struct stat out {};
  if ((of_link ? ::lstat(path.c_str(), &out) : ::stat(path.c_str(), &out)) == 0) return out;
  if (errno != ENOENT && errno != ENOTDIR) raise_errno(kind, path);
  return std::nullopt;
}

/// The target of the last link of a chain, which need not exist.
std::string behind_links(std::string path, ErrorKind kind) {
  constexpr int kMaxLinks = 40;  // as many as the kernel follows
  for (int i = 0; i < kMaxLinks; ++i) {
    const auto status = status_of(path, /*of_link=*/true, kind);
    if (!status || !S_ISLNK(status->st_mode)) return path;
    std::error_code error;
    const fs::path target = fs::read_symlink(path, error);
    if (error) raise(kind, "{}: {}", path, error.message());
    path = (fs::path(parent_folder(path)) / target).string();
  }
  raise(kind, "{}: more than {} links", path, kMaxLinks);
}

/// The status of the old file, which is to be replaced.
std::optional<struct stat> old_status(const std::string& path, ErrorKind kind) {
  const auto status = status_of(path, /*of_link=*/false, kind);
  if (!status) return status;
  if (S_ISDIR(status->st_mode)) raise(kind, "{}: a folder, not a file", path);
  if (!S_ISREG(status->st_mode)) raise(kind, "{}: not a regular file", path);
  if (::access(path.c_str(), W_OK) != 0) raise_errno(kind, fmt::format("cannot write {}", path));
  return status;
}

std::string behind_first_link(const std::string& path) {
  std::error_code error;
  const fs::path target = fs::read_symlink(path, error);
  return error ? path : (fs::path(parent_folder(path)) / target).string();
}

/// A temporary with the permissions of the file that it replaces.
PosixFile open_beside(const std::string& path, ErrorKind kind) {
  const auto old = old_status(path, kind);
  constexpr unsigned kOfNewFiles = 0666;
  PosixFile out = open_temporary(path, kind, kOfNewFiles);
  if (old) out.give_to(old->st_uid, old->st_gid, old->st_mode & 07777U);
  return out;
}

/// Whether bytes go to a target that cannot be replaced like a file: a device, or what this process
/// has open already. A named pipe is none: it may wait for a reader for ever.
bool is_stream(const std::string& path, ErrorKind kind) {
  for (const std::string& name : {path, behind_first_link(path)})
    if (name.starts_with("/dev/fd/") || name.starts_with("/proc/")) return true;
  const auto status = status_of(path, /*of_link=*/false, kind);
  return status && S_ISCHR(status->st_mode);
}

void write_to_stream(const std::string& path, std::string_view bytes, ErrorKind kind) {
  // O_NONBLOCK: the reader of an open pipe may have gone, and opening it would wait for another.
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 && errno == ENXIO) errno = EPIPE;
  if (fd < 0 || ::fcntl(fd, F_SETFL, O_APPEND) != 0)
    raise_errno(kind, fmt::format("cannot write {}", path));
  int error = 0;
  while (!bytes.empty() && error == 0) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    if (n < 0 && errno != EINTR) error = errno;
  }
  if (::close(fd) != 0 && error == 0 && errno != EINTR) error = errno;
  if (error == 0) return;
  errno = error;
  raise_errno(kind, fmt::format("cannot write {}", path));
}

}  // namespace

std::string parent_folder(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

AtomicFile::AtomicFile(const std::string& path, ErrorKind kind, unsigned mode)
    : path_(path), file_(open_temporary(path, kind, mode)) {}

AtomicFile::AtomicFile(const std::string& path, ErrorKind kind)
    : path_(behind_links(path, kind)), file_(open_beside(path_, kind)) {}

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

void write_file(const std::string& path, std::string_view bytes, ErrorKind kind) {
  if (is_stream(path, kind)) return write_to_stream(path, bytes, kind);
  AtomicFile target(path, kind);
  const fs::path file = behind_links(path, kind);
  (void)remove_stale_temporaries(parent_folder(file.string()), file.filename().string() + ".");
  target.file().write(0, std::as_bytes(std::span(bytes)));
  target.file().check_writes();
  target.commit();
}

void check_can_write(const std::string& path, ErrorKind kind) {
  if (!is_stream(path, kind)) {
    const AtomicFile trial(path, kind);
  } else if (::access(path.c_str(), W_OK) != 0) {
    raise_errno(kind, fmt::format("cannot write {}", path));
  }
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
