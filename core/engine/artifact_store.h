// A folder of artifacts by 128-bit key, shared by all processes that are given it: what one of them
// computed the others load. It is a cache in every respect: nothing in it is needed, whatever is
// wrong with it costs a warning and the time to compute again, and the least recently used entries
// are removed when it grows beyond its bound.
//
//   lockstep-<key>.artifact   one entry: header, payload. Appears whole or not at all. Entries of
//                             another kind have another ending.
//   lockstep-<key>.lock       empty; held (flock) by the process that computes the entry. The lock
//                             dies with its holder.
//   .lockstep-<key>.*.tmp     an entry being written; removed by the next writer if its own died.
//
// Other files in the folder are left alone. Entries may hold machine code: whoever can write to an
// entry or to the folder could make its users run his. So a folder and entries that are made here
// are their owner's alone to write, and a folder or an entry that belongs to another user (root
// excepted), or that group or others may write to, is not used, with a warning.
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
  std::string folder;  ///< made when something is first kept; empty: keep nothing
  std::uint64_t max_bytes = std::uint64_t{1} << 30;  ///< of all entries together
  double patience_s = 60;  ///< how long to wait for another process that computes an entry
  std::string_view ending = ".artifact";  ///< of static storage: what kind of entries these are
  /// Told of every warning, beside the log; from any thread.
  std::function<void(const std::string&)> on_warning = {};
};

/// Thread-safe. No function throws for anything the file system does.
class ArtifactStore {
 public:
  ArtifactStore(ArtifactOptions options, Log& log) : options_(std::move(options)), log_(log) {}

  bool enabled() const { return !options_.folder.empty(); }

  /// The entry's payload, which is now the most recently used; nullopt if there is none. A damaged,
  /// truncated or alien file in its place is removed, with a warning; `damaged` says so, too.
  std::optional<std::string> load(const Hash128& key, bool* damaged = nullptr);

  /// Keeps a payload, replacing an older one, and removes the least recently used entries beyond
  /// the bound. A payload beyond it is not kept. A failure is a warning, the first time.
  void save(const Hash128& key, std::string_view payload);

  /// The right to compute an entry, given back when destroyed.
  class Claim;
  /// Waits until nobody else computes the entry, but not longer than options.patience_s; whoever
  /// waited should look for the entry again. The claim may be empty: the patience ended, or there
  /// are no locks here; then compute anyway.
  Claim claim(const Hash128& key);

  /// "compile cache: ..." to the log and to options.on_warning.
  template <class... A>
  void warn(fmt::format_string<A...> format, A&&... args) const {
    tell("compile cache: " + fmt::format(format, std::forward<A>(args)...));
  }

 private:
  void tell(const std::string& warning) const;
  /// Whether the folder may be used; warns the first time it may not. One that does not exist may.
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
