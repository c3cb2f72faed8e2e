#include "collectives/shared_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <utility>

#include "core/base/error.h"

namespace lockstep {
namespace {

std::byte* checked(void* address, std::size_t bytes) {
  if (address == MAP_FAILED)
    raise_errno(ErrorKind::kOutOfMemory, fmt::format("cannot map {} bytes", bytes));
  return static_cast<std::byte*>(address);
}

/// What the kernel says can be allocated without swapping; 0 if it does not say.
std::size_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::size_t kib = 0;
  std::string unit;
  while (file >> key >> kib) {
    if (key == "MemAvailable:") return kib * 1024;
    std::getline(file, unit);
  }
  return 0;
}

}  // namespace

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping Mapping::reserve(std::size_t bytes) {
  void* address =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return {checked(address, bytes), bytes};
}

SharedFile SharedFile::create() {
  const int descriptor = memfd_create("lockstep", MFD_CLOEXEC);
  if (descriptor < 0) raise_errno(ErrorKind::kOutOfMemory, "cannot make a file in memory");
  return SharedFile(descriptor);
}

SharedFile SharedFile::open_of(std::int64_t process, int descriptor, const Id& id) {
  const std::string path = fmt::format("/proc/{}/fd/{}", process, descriptor);
  const int own = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (own < 0) raise_errno(ErrorKind::kPeer, fmt::format("cannot open {}", path));
  SharedFile out(own);
  if (out.id() != id) raise(ErrorKind::kPeer, "{} is not the shared memory of another rank", path);
  return out;
}

SharedFile::~SharedFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

SharedFile::SharedFile(SharedFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

SharedFile& SharedFile::operator=(SharedFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

SharedFile::Id SharedFile::id() const {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) raise_errno(ErrorKind::kPeer, "cannot look at a file");
  return {status.st_dev, status.st_ino};
}

void SharedFile::grow(std::size_t offset, std::size_t bytes) const {
  const std::size_t available = available_bytes();
  if (available > 0 && bytes > available)
    raise(ErrorKind::kOutOfMemory, "{} bytes of shared memory asked for, {} are available", bytes,
          available);
  int code = EINTR;
  while (code == EINTR)
    code = posix_fallocate(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  if (code != 0) {
    errno = code;
    raise_errno(ErrorKind::kOutOfMemory,
                fmt::format("no room for {} bytes of shared memory", bytes));
  }
}

Mapping SharedFile::map(std::size_t offset, std::size_t bytes, bool writable) const {
  const int access = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* address = mmap(nullptr, bytes, access, MAP_SHARED, descriptor_, static_cast<off_t>(offset));
  return {checked(address, bytes), bytes};
}

void SharedFile::replace(std::byte* address, std::size_t offset, std::size_t bytes) const {
  checked(mmap(address, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, descriptor_,
               static_cast<off_t>(offset)),
          bytes);
}

void SharedFile::free(std::size_t offset, std::size_t bytes) const {
  int code = -1;
  do {
    code = fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                     static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (code != 0 && errno == EINTR);
  if (code != 0) raise_errno(ErrorKind::kInternal, "cannot give shared memory back");
}

}  // namespace lockstep
