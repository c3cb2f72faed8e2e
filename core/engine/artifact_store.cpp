#include "core/engine/artifact_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/atomic_file.h"
#include "core/base/clock.h"
#include "core/base/duration.h"
#include "core/base/error.h"
#include "core/base/metrics.h"
#include "core/base/posix_file.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "lockstep-";
constexpr std::string_view kLockEnding = ".lock";
constexpr std::chrono::milliseconds kPoll{2};

/// In front of every payload. All fields are words: there is no padding.
struct Header {
  static constexpr std::uint64_t kMagic = 0x31'54'52'41'53'4c'0a'00;  // "\0\nLSART1"
  std::uint64_t magic = kMagic;
  std::uint64_t payload_bytes = 0;
  Hash128 key;
  Hash128 payload_hash;
  Hash128 own_hash;  ///< of the fields above

  Hash128 hash_fields() const { return hash128(this, offsetof(Header, own_hash)); }
};

std::span<std::byte> bytes_of(std::string& text) {
  return std::as_writable_bytes(std::span(text.data(), text.size()));
}

/// An error is found at the first write to the folder.
void make_folder(const std::string& folder) {
  std::error_code ignored;
  fs::create_directories(fs::path(folder).parent_path(), ignored);
  (void)::mkdir(folder.c_str(), 0700);
}

/// Whether the file is the one that it was: another process may have evicted it, and perhaps kept
/// another under its name since.
bool is_still(const std::string& path, const struct stat& before) {
  struct stat now {};
  return ::lstat(path.c_str(), &now) == 0 && now.st_ino == before.st_ino &&
         now.st_ctim.tv_sec == before.st_ctim.tv_sec &&
         now.st_ctim.tv_nsec == before.st_ctim.tv_nsec;
}

/// Error kData with the cause if the file is not valid.
std::string read_entry(const std::string& path, const Hash128& key) {
  const PosixFile file = PosixFile::open(path, ErrorKind::kData);
  if (const std::string others = file.other_writers(); !others.empty())
    raise(ErrorKind::kData, "{}", others);
  Header header;
  if (file.read(0, std::as_writable_bytes(std::span(&header, 1))) != sizeof header)
    raise(ErrorKind::kData, "it is shorter than its header");
  if (header.magic != Header::kMagic)
    raise(ErrorKind::kData, "it is not an artifact, or one of another version");
  if (header.own_hash != header.hash_fields()) raise(ErrorKind::kData, "its header is damaged");
  if (header.key != key) raise(ErrorKind::kData, "it belongs to another key");
  if (file.size() != sizeof header + header.payload_bytes)
    raise(ErrorKind::kData, "it has {} bytes instead of {}", file.size(),
          sizeof header + header.payload_bytes);
  std::string payload(header.payload_bytes, '\0');
  if (file.read(sizeof header, bytes_of(payload)) != payload.size() ||
      hash128(payload.data(), payload.size()) != header.payload_hash)
    raise(ErrorKind::kData, "its payload is damaged");
  return payload;
}

void write_entry(const std::string& path, const Hash128& key, std::string_view payload) {
  Header header;
  header.payload_bytes = payload.size();
  header.key = key;
  header.payload_hash = hash128(payload.data(), payload.size());
  header.own_hash = header.hash_fields();
  AtomicFile target(path, ErrorKind::kUsage, 0644);
  target.file().reserve(sizeof header + payload.size());
  target.file().write(0, std::as_bytes(std::span(&header, 1)));
  target.file().write(sizeof header, std::as_bytes(std::span(payload)));
  target.commit();
}

/// Whether the locked file is still the one that others would open under its name.
bool is_current(const std::string& path, int fd) {
  struct stat own {};
  struct stat named {};
  return ::fstat(fd, &own) == 0 && ::stat(path.c_str(), &named) == 0 &&
         own.st_ino == named.st_ino && own.st_dev == named.st_dev;
}

enum class Attempt { kHeld, kTaken, kGone, kImpossible };

Attempt attempt_lock(const std::string& path, int& fd) {
  fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return Attempt::kImpossible;
  Attempt out = Attempt::kImpossible;
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) {
    // The previous holder removed it, maybe after it was opened here.
    out = is_current(path, fd) ? Attempt::kHeld : Attempt::kGone;
  } else if (errno == EWOULDBLOCK || errno == EINTR) {
    out = Attempt::kTaken;
  }
  if (out != Attempt::kHeld) ::close(std::exchange(fd, -1));
  return out;
}

}  // namespace

ArtifactStore::Claim::~Claim() {
  if (fd_ < 0) return;
  ::unlink(path_.c_str());  // under the lock: see attempt_lock
  ::close(fd_);
}

ArtifactStore::Claim::Claim(Claim&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

std::string ArtifactStore::path_of(const Hash128& key, std::string_view ending) const {
  return fmt::format("{}/{}{}{}", options_.folder, kPrefix, key.hex(), ending);
}

bool ArtifactStore::is_trusted() {
  const std::string others = other_writers(options_.folder);
  if (others.empty()) return true;
  if (!warned_of_writers_.exchange(true)) {
    warn(
        "the folder {} is not used: {}, and a user who can write to it can make this process run "
        "any code; allow only yourself to write to it (chmod go-w) or set device.compile_cache to "
        "another",
        options_.folder, others);
  }
  return false;
}

std::optional<std::string> ArtifactStore::load(const Hash128& key, bool* damaged) {
  if (!enabled()) return std::nullopt;
  const std::string path = path_of(key, options_.ending);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !is_trusted()) return std::nullopt;
  try {
    std::string payload = read_entry(path, key);
    // The time of the last use orders evictions; a folder that cannot be written to has none.
    (void)::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
    return payload;
  } catch (const Error& e) {
    std::error_code ignored;
    if (!is_still(path, status)) return std::nullopt;
    warn("{} cannot be used and is replaced: {}", path, e.what());
    if (damaged != nullptr) *damaged = true;
    fs::remove(path, ignored);
  } catch (const std::bad_alloc&) {
    warn("{} does not fit into memory", path);
  }
  return std::nullopt;
}

void ArtifactStore::save(const Hash128& key, std::string_view payload) {
  const std::uint64_t bytes = sizeof(Header) + payload.size();
  if (!enabled()) return;
  if (bytes > options_.max_bytes) {
    log_.debug(2, "compile cache: an entry of {} exceeds its limit",
               format_bytes(static_cast<double>(bytes)));
    return;
  }
  const std::lock_guard lock(mutex_);
  try {
    make_folder(options_.folder);
    if (!is_trusted()) return;
    if (!std::exchange(cleaned_, true))
      (void)remove_stale_temporaries(options_.folder, std::string(kPrefix));
    evict_for(bytes);
    write_entry(path_of(key, options_.ending), key, payload);
  } catch (const std::exception& e) {
    if (!std::exchange(warned_, true)) warn("nothing is stored: {}", e.what());
  }
}

void ArtifactStore::evict_for(std::uint64_t bytes) const {
  struct Entry {
    timespec used;
    std::uint64_t bytes;
    std::string path;
  };
  std::vector<Entry> entries;
  std::uint64_t total = bytes;
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(options_.folder, error)) {
    struct stat status {};
    const std::string path = file.path().string();
    const std::string name = file.path().filename().string();
    if (!name.starts_with(kPrefix) || !name.ends_with(options_.ending)) continue;
    if (::lstat(path.c_str(), &status) != 0) continue;
    total += static_cast<std::uint64_t>(status.st_size);
    entries.push_back({status.st_mtim, static_cast<std::uint64_t>(status.st_size), path});
  }
  if (total <= options_.max_bytes) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec, a.path) <
           std::tie(b.used.tv_sec, b.used.tv_nsec, b.path);
  });
  for (const Entry& entry : entries) {
    if (total <= options_.max_bytes) return;
    fs::remove(entry.path, error);
    total -= entry.bytes;
    log_.debug(2, "compile cache: evicted {}", entry.path);
  }
}

void ArtifactStore::tell(const std::string& warning) const {
  log_.warn("{}", warning);
  if (options_.on_warning) options_.on_warning(warning);
}

ArtifactStore::Claim ArtifactStore::claim(const Hash128& key) {
  if (!enabled()) return {};
  make_folder(options_.folder);
  if (!is_trusted()) return {};
  std::string path = path_of(key, kLockEnding);
  const SteadyClock clock;
  const std::int64_t begin_ns = clock.now_ns();
  while (true) {
    int fd = -1;
    const Attempt attempt = attempt_lock(path, fd);
    if (attempt == Attempt::kHeld) return {std::move(path), fd};
    if (attempt == Attempt::kImpossible) return {};
    const double waited_s = seconds_since(clock, begin_ns);
    if (waited_s >= options_.patience_s) {
      warn("another process has been compiling the same for {}; this one compiles too",
           readable_time(waited_s));
      return {};
    }
    if (attempt == Attempt::kTaken) std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace lockstep
