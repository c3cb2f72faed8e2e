// A library for LD_PRELOAD that makes one I/O call on a run's checkpoints fail.
//
//   IO_FAULT_PATH   only calls count whose path, or whose descriptor's path, contains this text
//   IO_FAULT_CALL   number of the call that fails, from 1
//   IO_FAULT_KIND   EIO, ENOSPC or EINTR: the call fails with it. SHORT: a read or write moves
//                   half. DROP: a write leaves out eight bytes in its middle and reports success;
//                   other calls are normal. SLOW: every fsync takes 0.7 s longer, whatever
//                   IO_FAULT_CALL is
//   IO_FAULT_LOG    gets a line per call: its name; and "fault" after the one that failed
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

enum class Fault { kNone, kError, kShort, kDrop };

std::atomic<long> calls{0};

const char* setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

void note(const char* name, bool is_fault) {
  static const auto real_write = next<ssize_t (*)(int, const void*, size_t)>("write");
  static const auto real_open = next<int (*)(const char*, int, ...)>("open");
  char line[80];
  const int size = std::snprintf(line, sizeof line, "%s%s\n", name, is_fault ? " fault" : "");
  const int fd =
      real_open(setting("IO_FAULT_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  (void)real_write(fd, line, static_cast<size_t>(size));
  next<int (*)(int)>("close")(fd);
}

int error_number(const char* kind) {
  if (std::strcmp(kind, "EIO") == 0) return EIO;
  if (std::strcmp(kind, "ENOSPC") == 0) return ENOSPC;
  return std::strcmp(kind, "EINTR") == 0 ? EINTR : 0;
}

// What is to happen to this call; sets errno for kError.
Fault fault_of(const char* name, const char* path) {
  const char* wanted = setting("IO_FAULT_PATH");
  if (path == nullptr || *wanted == '\0' || std::strstr(path, wanted) == nullptr)
    return Fault::kNone;
  const char* kind = setting("IO_FAULT_KIND");
  if (std::strcmp(kind, "SLOW") == 0) {
    if (std::strcmp(name, "fsync") == 0) usleep(700'000);
    return Fault::kNone;
  }
  const bool is_it = ++calls == std::atol(setting("IO_FAULT_CALL"));
  note(name, is_it);
  if (!is_it) return Fault::kNone;
  if (std::strcmp(kind, "SHORT") == 0) return Fault::kShort;
  if (std::strcmp(kind, "DROP") == 0) return Fault::kDrop;
  errno = error_number(kind);
  return Fault::kError;
}

Fault fault_of(const char* name, int fd) {
  static const auto real_readlink = next<ssize_t (*)(const char*, char*, size_t)>("readlink");
  char link[40];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  char path[4096];
  const ssize_t size = real_readlink(link, path, sizeof path - 1);
  if (size < 0) return Fault::kNone;
  path[size] = '\0';
  return fault_of(name, path);
}

template <class Offset>
ssize_t faulty_read(const char* name, int fd, void* out, size_t size, Offset offset) {
  const auto real = next<ssize_t (*)(int, void*, size_t, Offset)>(name);
  const Fault fault = fault_of(name, fd);
  if (fault == Fault::kError) return -1;
  return real(fd, out, fault == Fault::kShort ? (size + 1) / 2 : size, offset);
}

template <class Offset>
ssize_t faulty_write(const char* name, int fd, const void* bytes, size_t size, Offset offset) {
  const auto real = next<ssize_t (*)(int, const void*, size_t, Offset)>(name);
  const Fault fault = fault_of(name, fd);
  if (fault == Fault::kError) return -1;
  if (fault == Fault::kShort) return real(fd, bytes, (size + 1) / 2, offset);
  constexpr size_t kLost = 8;
  if (fault != Fault::kDrop || size <= kLost)
    return fault == Fault::kDrop ? static_cast<ssize_t>(size) : real(fd, bytes, size, offset);
  const size_t before = (size - kLost) / 2;
  real(fd, bytes, before, offset);
  real(fd, static_cast<const char*>(bytes) + before + kLost, size - before - kLost,
       offset + static_cast<Offset>(before + kLost));
  return static_cast<ssize_t>(size);
}

int mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, int) : 0;
}

}  // namespace

// Calls that fail or not: the arguments in brackets, how they are passed on, and what says where
// they act.
#define FAULTY(result, failed, name, parameters, where, ...)    \
  extern "C" result name parameters {                           \
    if (fault_of(#name, where) == Fault::kError) return failed; \
    return next<result(*) parameters>(#name)(__VA_ARGS__);      \
  }

FAULTY(int, -1, fsync, (int fd), fd, fd)
FAULTY(int, -1, ftruncate, (int fd, off_t size), fd, fd, size)
FAULTY(int, -1, ftruncate64, (int fd, off64_t size), fd, fd, size)
FAULTY(int, -1, fallocate, (int fd, int mode, off_t at, off_t size), fd, fd, mode, at, size)
FAULTY(int, -1, fallocate64, (int fd, int mode, off64_t at, off64_t size), fd, fd, mode, at, size)
FAULTY(int, -1, flock, (int fd, int operation) noexcept, fd, fd, operation)
FAULTY(int, -1, fstat, (int fd, struct stat* out) noexcept, fd, fd, out)
FAULTY(int, -1, fstat64, (int fd, struct stat64* out) noexcept, fd, fd, out)
FAULTY(int, -1, stat, (const char* path, struct stat* out) noexcept, path, path, out)
FAULTY(int, -1, stat64, (const char* path, struct stat64* out) noexcept, path, path, out)
FAULTY(int, -1, lstat, (const char* path, struct stat* out) noexcept, path, path, out)
FAULTY(int, -1, access, (const char* path, int mode) noexcept, path, path, mode)
FAULTY(int, -1, rename, (const char* from, const char* to) noexcept, to, from, to)
FAULTY(int, -1, unlink, (const char* path) noexcept, path, path)
FAULTY(int, -1, mkdir, (const char* path, mode_t mode) noexcept, path, path, mode)
FAULTY(DIR*, nullptr, opendir, (const char* path), path, path)
FAULTY(DIR*, nullptr, fdopendir, (int fd), fd, fd)
FAULTY(dirent*, nullptr, readdir, (DIR * folder), dirfd(folder), folder)
FAULTY(dirent64*, nullptr, readdir64, (DIR * folder), dirfd(folder), folder)

extern "C" ssize_t pread(int fd, void* out, size_t size, off_t offset) {
  return faulty_read("pread", fd, out, size, offset);
}
extern "C" ssize_t pread64(int fd, void* out, size_t size, off64_t offset) {
  return faulty_read("pread64", fd, out, size, offset);
}
extern "C" ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  return faulty_write("pwrite", fd, bytes, size, offset);
}
extern "C" ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t offset) {
  return faulty_write("pwrite64", fd, bytes, size, offset);
}

extern "C" int open(const char* path, int flags, ...) {
  if (fault_of("open", path) == Fault::kError) return -1;
  va_list arguments;
  va_start(arguments, flags);
  const int mode = mode_of(flags, arguments);
  va_end(arguments);
  return next<int (*)(const char*, int, ...)>("open")(path, flags, mode);
}

extern "C" int openat(int folder, const char* path, int flags, ...) {
  if (fault_of("openat", path) == Fault::kError) return -1;
  va_list arguments;
  va_start(arguments, flags);
  const int mode = mode_of(flags, arguments);
  va_end(arguments);
  return next<int (*)(int, const char*, int, ...)>("openat")(folder, path, flags, mode);
}
