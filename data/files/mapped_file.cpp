#include "data/files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "core/base/error.h"

namespace lockstep {
namespace {

/// Closes a descriptor when opening fails halfway.
struct DescriptorGuard {
  int descriptor;
  ~DescriptorGuard() {
    if (descriptor >= 0) ::close(descriptor);
  }
};

std::size_t size_of_file(int descriptor, const std::string& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) raise_errno(ErrorKind::kData, path);
  if (!S_ISREG(status.st_mode)) raise(ErrorKind::kData, "{}: not a regular file", path);
  return static_cast<std::size_t>(status.st_size);
}

}  // namespace

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  // O_NONBLOCK, so that opening a named pipe fails the check below instead of waiting for a writer.
  DescriptorGuard guard{::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (guard.descriptor < 0) raise_errno(ErrorKind::kData, path_ + ": cannot be opened");
  const std::size_t size = size_of_file(guard.descriptor, path_);
  if (size > 0) {  // an empty range cannot be mapped
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, guard.descriptor, 0);
    if (address == MAP_FAILED) raise_errno(ErrorKind::kData, path_ + ": cannot be mapped");
    bytes_ = {static_cast<const std::byte*>(address), size};
  }
  descriptor_ = std::exchange(guard.descriptor, -1);
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  ::close(descriptor_);
}

void MappedFile::check_not_truncated() const {
  const std::size_t size = size_of_file(descriptor_, path_);
  if (size < bytes_.size()) {
    raise(ErrorKind::kData, "{}: shrank from {} to {} bytes while it was in use", path_,
          bytes_.size(), size);
  }
}

}  // namespace lockstep
