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

/// The memory that can be allocated without swapping, as the kernel reports it; 0 if it does not.
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
  constexpr std::size_t kHugePage = SharedFile::kHugePage;
  const std::size_t spare = bytes < kHugePage ? 0 : kHugePage - SharedFile::kPage;
  std::byte* const data = checked(
      mmap(nullptr, bytes + spare, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
      bytes);
  if (spare == 0) return {data, bytes};
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(data) % kHugePage;
  if (before > 0) munmap(data, before);
  if (before < spare) munmap(data + before + bytes, spare - before);
  return {data + before, bytes};
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
  if (fstat(descriptor_, &status) != 0)
    raise_errno(ErrorKind::kPeer, "cannot get the size of a file");
  return {status.st_dev, status.st_ino};
}

void SharedFile::grow(std::size_t offset, std::size_t bytes) const {
  const std::size_t available = available_bytes();
  if (available > 0 && bytes > available)
    raise(ErrorKind::kOutOfMemory, "{} bytes of shared memory requested, {} are available", bytes,
          available);
  allocate_huge_pages(offset, bytes);
  allocate(offset, bytes);
}

/// Existing contents do not change.
void SharedFile::allocate(std::size_t offset, std::size_t bytes) const {
  int code = EINTR;
  while (code == EINTR)
    code = posix_fallocate(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  if (code != 0) {
    errno = code;
    raise_errno(ErrorKind::kOutOfMemory,
                fmt::format("no room for {} bytes of shared memory", bytes));
  }
}

/// As far as there are any. By default systems give files in memory no huge pages; since Linux 6.1
/// existing pages can be turned into huge ones on request everywhere.
void SharedFile::allocate_huge_pages(std::size_t offset, std::size_t bytes) const {
#ifdef MADV_COLLAPSE
  constexpr int kCollapse = MADV_COLLAPSE;
#else
  constexpr int kCollapse = 25;  // linux/mman.h
#endif
  const std::size_t begin = (offset + kHugePage - 1) / kHugePage * kHugePage;
  const std::size_t end = (offset + bytes) / kHugePage * kHugePage;
  if (begin >= end) return;
  const Mapping mapping = map(begin, end - begin, true);
  for (std::size_t at = begin; at < end; at += kHugePage) {
    allocate(at, kPage);
    if (madvise(mapping.data() + (at - begin), kHugePage, kCollapse) != 0) return;
  }
}

Mapping SharedFile::map(std::size_t offset, std::size_t bytes, bool writable) const {
  Mapping out = Mapping::reserve(bytes);
  put(out.data(), offset, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ);
  return out;
}

void SharedFile::replace(std::byte* address, std::size_t offset, std::size_t bytes) const {
  put(address, offset, bytes, PROT_READ);
}

void SharedFile::put(std::byte* address, std::size_t offset, std::size_t bytes, int access) const {
  checked(
      mmap(address, bytes, access, MAP_SHARED | MAP_FIXED, descriptor_, static_cast<off_t>(offset)),
      bytes);
}

void SharedFile::free(std::size_t offset, std::size_t bytes) const {
  int code = -1;
  do {
    code = fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                     static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (code != 0 && errno == EINTR);
  if (code != 0) raise_errno(ErrorKind::kInternal, "cannot release shared memory");
}

}  // namespace lockstep
