// A folder of artifacts by 128-bit key, shared by all processes that use it: an artifact computed
// by one of them is loaded by the others. It is a cache: no entry is required, an error in it costs
// a warning and the time to compute again, and the least recently used entries are removed when it
// grows beyond its bound.
//
//   lockstep-<key>.artifact   one entry: header, payload. Appears whole or not at all. Entries of
//                             another kind have another ending.
//   lockstep-<key>.lock       empty; held (flock) by the process that computes the entry. The lock
//                             dies with its holder.
//   .lockstep-<key>.*.tmp     an entry being written; removed by the next writer if its own died.
//
// Other files in the folder are not touched. Entries may hold machine code: a user who can write to
// an entry or to the folder could make others run any code. So folders and entries made here are
// writable only for their owner. A folder or an entry that belongs to another user (except root),
// or that group or others may write to, is not used, with a warning.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/hash.h"
#include "core/base/log.h"

namespace lockstep {

struct ArtifactOptions {
  std::string folder;  ///< made for the first entry; empty: keep nothing
  std::uint64_t max_bytes = std::uint64_t{1} << 30;  ///< of all entries together
  double patience_s = 60;  ///< how long to wait for another process that computes an entry
  std::string_view ending = ".artifact";  ///< of static storage; identifies the kind of entries
  /// Called with every warning, which the log gets, too; from any thread.
  std::function<void(const std::string&)> on_warning = {};
};

/// Thread-safe. No function throws for errors of the file system.
class ArtifactStore {
 public:
  ArtifactStore(ArtifactOptions options, Log& log) : options_(std::move(options)), log_(log) {}

  bool enabled() const { return !options_.folder.empty(); }

  /// The entry's payload, which is now the most recently used; nullopt if there is none. A damaged,
  /// truncated or foreign file in its place is removed, with a warning, and `*damaged` is set.
  std::optional<std::string> load(const Hash128& key, bool* damaged = nullptr);

  /// Keeps a payload, replacing an older one, and removes the least recently used entries beyond
  /// the bound. A payload beyond it is not kept. The first failure is logged as a warning.
  void save(const Hash128& key, std::string_view payload);

  /// The right to compute an entry; the destructor gives it back.
  class Claim;
  /// Waits until no other process computes the entry, at most options.patience_s. A caller that
  /// waited should look for the entry again. The claim is empty if the time ran out, or if the file
  /// system has no locks; compute the entry in this case, too.
  Claim claim(const Hash128& key);

  /// "compile cache: ..." to the log and to options.on_warning.
  template <class... A>
  void warn(fmt::format_string<A...> format, A&&... args) const {
    tell("compile cache: " + fmt::format(format, std::forward<A>(args)...));
  }

 private:
  void tell(const std::string& warning) const;
  /// Whether the folder may be used; the first refusal is logged as a warning. A folder that does
  /// not exist may be used.
  bool is_trusted();
  std::string path_of(const Hash128& key, std::string_view ending) const;
  void evict_for(std::uint64_t bytes) const;

  ArtifactOptions options_;
  Log& log_;
  std::mutex mutex_;
  bool warned_ = false;
  std::atomic<bool> warned_of_writers_ = false;
  bool cleaned_ = false;
};

class ArtifactStore::Claim {
 public:
  Claim() = default;
  Claim(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  ~Claim();
  Claim(Claim&& other) noexcept;
  Claim& operator=(Claim&& other) = delete;

  bool holds() const { return fd_ >= 0; }

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace lockstep
