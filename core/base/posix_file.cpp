#include "core/base/posix_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace lockstep {
namespace {

// One write(2) moves at most 2 GiB; anything below works.
constexpr std::size_t kMaxTransfer = std::size_t{1} << 30;

// Writing past the limit would raise SIGXFSZ, which ends the process; so it is checked first.
bool exceeds_size_limit(std::uint64_t end) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         end > limit.rlim_cur;
}

// Repeats a call that a signal interrupted.
template <class Call>
int uninterrupted(Call call) {
  while (true) {
    const int result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

bool is_lack_of_space(int error) {
  return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

std::string other_writers_by(const struct stat& status) {
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    return fmt::format("it belongs to user {}", status.st_uid);
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fmt::format("others can write to it (mode {:04o})", status.st_mode & 07777U);
  return "";
}

}  // namespace

PosixFile PosixFile::open(const std::string& path, ErrorKind kind) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  PosixFile file(path, path, kind, uninterrupted([&] {
                   return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
                 }));
  if (!file.is_open()) raise_errno(kind, path);
  struct stat status {};
  if (::fstat(file.fd_, &status) != 0) raise_errno(kind, path);
  if (S_ISDIR(status.st_mode)) raise(kind, "{}: a folder, not a file", path);
  if (!S_ISREG(status.st_mode)) raise(kind, "{}: not a regular file", path);
  return file;
}

PosixFile PosixFile::create(const std::string& path, ErrorKind kind, unsigned mode,
                            const std::string& name) {
  PosixFile file(path, name.empty() ? path : name, kind, uninterrupted([&] {
                   return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
                 }));
  if (!file.is_open()) {
    if (errno != EEXIST) raise_errno(kind, fmt::format("cannot create {}", file.name_));
    return file;
  }
  // The lock means that the writer lives. On file systems without locks it is never tested. Another
  // process that holds the lock of such a new file is about to remove it.
  if (uninterrupted([&] { return ::flock(file.fd_, LOCK_EX | LOCK_NB); }) != 0 &&
      errno == EWOULDBLOCK) {
    ::close(std::exchange(file.fd_, -1));
  }
  return file;
}

PosixFile::PosixFile(PosixFile&& other) noexcept
    : path_(std::move(other.path_)),
      name_(std::move(other.name_)),
      kind_(other.kind_),
      fd_(std::exchange(other.fd_, -1)),
      first_error_(other.first_error_),
      activity_(other.activity_) {}

PosixFile::~PosixFile() {
  if (fd_ >= 0) ::close(fd_);
}

std::uint64_t PosixFile::size() const {
  struct stat status {};
  if (::fstat(fd_, &status) != 0) raise_errno(kind_, path_);
  return static_cast<std::uint64_t>(status.st_size);
}

std::string PosixFile::other_writers() const {
  struct stat status {};
  if (::fstat(fd_, &status) != 0) raise_errno(kind_, path_);
  return other_writers_by(status);
}

std::size_t PosixFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = ::pread(fd_, out.data() + done, std::min(out.size() - done, kMaxTransfer),
                              static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) raise_errno(kind_, fmt::format("cannot read {}", path_));
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
    activity_.progress();
  }
  return done;
}

void PosixFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (first_error_ != 0) return;
  if (exceeds_size_limit(offset + bytes.size())) return fail(EFBIG);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n =
        ::pwrite(fd_, bytes.data() + done, std::min(bytes.size() - done, kMaxTransfer),
                 static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(n < 0 ? errno : ENOSPC);
    done += static_cast<std::size_t>(n);
    activity_.progress();
  }
}

void PosixFile::resize(std::uint64_t bytes) {
  if (first_error_ != 0) return;
  struct stat status {};
  if (::fstat(fd_, &status) != 0) return fail(errno);
  const bool grows = bytes > static_cast<std::uint64_t>(status.st_size);
  if (grows && exceeds_size_limit(bytes)) return fail(EFBIG);
  const auto length = static_cast<off_t>(bytes);
  if (uninterrupted([&] { return ::ftruncate(fd_, length); }) != 0) fail(errno);
}

void PosixFile::reserve(std::uint64_t bytes) {
  if (first_error_ != 0) return;
  if (exceeds_size_limit(bytes)) return fail(EFBIG);
  const int status = uninterrupted(
      [&] { return ::fallocate(fd_, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)); });
  if (status != 0 && is_lack_of_space(errno)) fail(errno);
}

void PosixFile::fail(int error) {
  first_error_ = error;
}

void PosixFile::check_writes() const {
  if (first_error_ == 0) return;
  errno = first_error_;
  raise_errno(kind_, fmt::format("cannot write {}", name_));
}

bool PosixFile::ran_out_of_space() const {
  return is_lack_of_space(first_error_);
}

void PosixFile::give_to(unsigned user, unsigned group, unsigned mode) {
  // First the owner: a change of it may take permissions away.
  const bool is_given = ::fchown(fd_, user, group) == 0;
  constexpr unsigned kOfOwner = 06000;  // set-user-ID and set-group-ID: wrong for another owner
  (void)::fchmod(fd_, is_given ? mode : mode & ~kOfOwner);
}

void PosixFile::sync() {
  check_writes();
  const ForeignCall flush(activity_, "fsync");
  if (uninterrupted([&] { return ::fsync(fd_); }) == 0) return;
  fail(errno);  // some file systems report a full disk only here
  check_writes();
}

int open_to_append(const std::string& path, ErrorKind kind, unsigned mode) {
  const int fd = uninterrupted([&] {
    return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, mode);
  });
  if (fd < 0 && errno != ENXIO) raise_errno(kind, fmt::format("cannot write {}", path));
  struct stat status {};
  if (fd >= 0 && ::fstat(fd, &status) == 0 &&
      (S_ISREG(status.st_mode) || S_ISCHR(status.st_mode)) && ::fcntl(fd, F_SETFL, O_APPEND) == 0)
    return fd;
  if (fd >= 0) ::close(fd);  // else a pipe without a reader
  raise(kind, "{}: not a regular file", path);
}

std::string other_writers(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? other_writers_by(status) : "";
}

std::uint64_t free_bytes(const std::string& folder) {
  struct statvfs status {};
  if (::statvfs(folder.c_str(), &status) != 0) return 0;
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

void sync_folder(const std::string& folder, ErrorKind kind) {
  const int fd =
      uninterrupted([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (fd < 0) raise_errno(kind, fmt::format("cannot open {}", folder));
  const int status = uninterrupted([&] { return ::fsync(fd); });
  const int error = errno;
  ::close(fd);
  if (status == 0 || error == EINVAL) return;  // EINVAL: nothing to flush on this file system
  errno = error;
  raise_errno(kind, fmt::format("cannot flush {}", folder));
}

}  // namespace lockstep
