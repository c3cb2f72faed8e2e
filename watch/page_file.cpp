#include "watch/page_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace lockstep {
namespace {

constexpr const char* kName = "lockstep-activity";
constexpr std::string_view kLink = "/memfd:lockstep-activity (deleted)";
constexpr std::size_t kBytes = MappedPages::kBytes;

std::byte* map(int fd, int protection, int flags) {
  void* at = ::mmap(nullptr, kBytes, protection, flags, fd, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

std::string target_of(const std::string& link) {
  std::array<char, 256> text{};
  const ssize_t length = ::readlink(link.c_str(), text.data(), text.size());
  return length < 0 ? std::string() : std::string(text.data(), static_cast<std::size_t>(length));
}

MappedPages open_pages(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  struct stat status {};
  // A shorter file would kill a process that reads the missing part.
  const bool whole =
      ::fstat(fd, &status) == 0 && static_cast<std::size_t>(status.st_size) == kBytes;
  MappedPages out(whole ? map(fd, PROT_READ, MAP_SHARED) : nullptr);
  ::close(fd);
  if (out && out.activity().magic.load(std::memory_order_acquire) != ActivityPage::kMagic)
    return {};
  return out;
}

}  // namespace

void WatchPage::publish_verdict(std::string_view text) {
  constexpr std::size_t kPiece = SharedText::kBytes - 1;
  for (SharedText& piece : verdict) {
    piece.store(text.substr(0, kPiece));
    text.remove_prefix(std::min(text.size(), kPiece));
  }
  has_verdict.store(1, std::memory_order_release);
}

std::string WatchPage::read_verdict() const {
  std::string out;
  if (has_verdict.load(std::memory_order_acquire) == 0) return out;
  for (const SharedText& piece : verdict) out += piece.load();
  return out;
}

MappedPages::~MappedPages() {
  if (memory_ != nullptr) ::munmap(memory_, kBytes);
}

MappedPages::MappedPages(MappedPages&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)) {}

MappedPages& MappedPages::operator=(MappedPages&& other) noexcept {
  std::swap(memory_, other.memory_);
  return *this;
}

MappedPages make_own_pages() {
  const int fd = ::memfd_create(kName, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  std::byte* memory = nullptr;
  if (fd >= 0 && ::ftruncate(fd, kBytes) == 0) {
    (void)::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    memory = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
  }
  if (memory == nullptr) memory = map(-1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  MappedPages out(memory);
  if (!out) return out;
  out.activity().pid.store(::getpid());
  out.activity().magic.store(ActivityPage::kMagic, std::memory_order_release);
  return out;
}

MappedPages open_pages_of(std::int64_t pid) {
  const std::string folder = fmt::format("/proc/{}/fd", pid);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  if (entries == nullptr) return {};
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string link = fmt::format("{}/{}", folder, entry->d_name);
    if (target_of(link) != kLink) continue;
    MappedPages pages = open_pages(link);
    // A child between fork and exec still has its parent's pages.
    if (pages && pages.activity().pid.load() == pid) return pages;
  }
  return {};
}

}  // namespace lockstep
