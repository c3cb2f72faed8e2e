// A data file that is read piece by piece while a run goes on. It is read and not mapped: touching
// a mapped page of a file that was cut short would end the process with SIGBUS.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace lockstep {

/// Opens `path` for reading; the caller closes the descriptor. Error kData naming the file if that
/// fails or it is not a regular file: a pipe without a writer would be waited for, and a device may
/// have no end. Error kUsage if too many files are open: nothing is wrong with this one.
int open_regular_file(const std::string& path);

class SourceFile {
 public:
  /// Errors as of open_regular_file.
  explicit SourceFile(std::string path);
  ~SourceFile();
  SourceFile(const SourceFile&) = delete;
  SourceFile& operator=(const SourceFile&) = delete;

  const std::string& path() const { return path_; }
  /// Bytes, when it was opened.
  std::uint64_t size() const { return size_; }

  /// How often a file in use is looked at for changes. A look costs about as much as a sample.
  static constexpr std::int64_t kLookNs = 10'000'000;

  /// Fills `out` from `offset`; [offset, offset + out.size()) must lie within size(). Error kData
  /// if the file cannot be read, ends too early, or was cut or rewritten since it was opened (its
  /// size and time of modification tell) and the last look was kLookNs ago. Thread-safe.
  void read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  void check_unchanged() const;
  bool is_time_to_look() const;

  std::string path_;
  int descriptor_;
  std::uint64_t size_ = 0;
  std::int64_t modified_ns_ = 0;
  mutable std::atomic<std::int64_t> looked_ns_ = 0;
};

}  // namespace lockstep
