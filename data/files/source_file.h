// A data file that is read piece by piece during a run. It is read and not mapped: touching a
// mapped page of a file that was cut short would end the process with SIGBUS.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace lockstep {

/// Opens `path` for reading; the caller closes the descriptor. Error kData naming the file if that
/// fails or it is not a regular file: opening a pipe could wait for a writer, and a device may have
/// no end. Error kUsage if too many files are open, because the file itself is not at fault.
int open_regular_file(const std::string& path);

class SourceFile {
 public:
  /// Errors as of open_regular_file.
  explicit SourceFile(std::string path);
  ~SourceFile();
  SourceFile(const SourceFile&) = delete;
  SourceFile& operator=(const SourceFile&) = delete;

  const std::string& path() const { return path_; }
  /// Size in bytes when it was opened.
  std::uint64_t size() const { return size_; }

  /// How often a file in use is checked for changes. A check costs about as much as a sample.
  static constexpr std::int64_t kLookNs = 10'000'000;

  /// Fills `out` from `offset`; [offset, offset + out.size()) must lie within size(). Error kData
  /// if the file cannot be read or ends too early. If the last check was kLookNs ago, also if it
  /// was cut or rewritten since it was opened (by its size and time of modification). Thread-safe.
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
