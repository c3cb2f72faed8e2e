#include "data/files/source_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "data/files/printable.h"

namespace lockstep {
namespace {

// One pread(2) moves at most 2 GiB.
constexpr std::size_t kMaxTransfer = std::size_t{1} << 30;

struct stat status_of(int descriptor, const std::string& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) raise_errno(ErrorKind::kData, printable(path));
  return status;
}

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

[[noreturn]] void raise_unopened(const std::string& path, int code) {
  const std::string what =
      fmt::format("{}: cannot be opened: {}", printable(path), std::strerror(code));
  if (code == EMFILE || code == ENFILE)
    raise(ErrorKind::kUsage, "{}; raise the limit of open files (ulimit -n)", what);
  if (code == ENOMEM) throw std::system_error(code, std::generic_category(), printable(path));
  throw Error(ErrorKind::kData, what);
}

}  // namespace

int open_regular_file(const std::string& path) {
  // O_NONBLOCK, so that opening a named pipe fails the check below instead of waiting for a writer.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) raise_unopened(path, errno);
  struct stat status {};
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) return descriptor;
  ::close(descriptor);
  raise(ErrorKind::kData, "{}: not a regular file", printable(path));
}

SourceFile::SourceFile(std::string path)
    : path_(std::move(path)), descriptor_(open_regular_file(path_)) {
  const struct stat status = status_of(descriptor_, path_);
  size_ = static_cast<std::uint64_t>(status.st_size);
  modified_ns_ = nanoseconds(status.st_mtim);
}

SourceFile::~SourceFile() {
  ::close(descriptor_);
}

void SourceFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  LS_CHECK(offset + out.size() <= size_, "bytes [{}, {}) of {} in {} were requested", offset,
           offset + out.size(), size_, path_);
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor_, out.data(), std::min(out.size(), kMaxTransfer),
                                static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) raise_errno(ErrorKind::kData, printable(path_) + ": cannot be read");
    if (got == 0) break;  // shorter than it was: check_unchanged reports it
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  // After the bytes were read, so that they are known to come from the opened version of the file.
  if (!out.empty() || is_time_to_look()) check_unchanged();
  if (!out.empty())
    raise(ErrorKind::kData, "{}: ends at byte {} of {}", printable(path_), offset, size_);
}

bool SourceFile::is_time_to_look() const {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  const std::int64_t now_ns = nanoseconds(now);
  if (now_ns - looked_ns_.load(std::memory_order_relaxed) < kLookNs) return false;
  looked_ns_.store(now_ns, std::memory_order_relaxed);
  return true;
}

void SourceFile::check_unchanged() const {
  const struct stat status = status_of(descriptor_, path_);
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size != size_) {
    raise(ErrorKind::kData, "{}: {} from {} to {} bytes while it was in use", printable(path_),
          size < size_ ? "shrank" : "grew", size_, size);
  }
  if (nanoseconds(status.st_mtim) != modified_ns_) {
    raise(
        ErrorKind::kData,
        "{}: was rewritten while it was in use; put a new version in its place by renaming, which "
        "leaves a run the old one",
        printable(path_));
  }
}

}  // namespace lockstep
