// A file's bytes, mapped read-only into memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lockstep {

class MappedFile {
 public:
  /// Error kData naming the file if it cannot be opened, is not a regular file, or cannot be
  /// mapped.
  explicit MappedFile(std::string path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  /// Error kData if the file has shrunk since it was mapped: touching the lost pages would end the
  /// process with SIGBUS. Thread-safe; one fstat.
  void check_not_truncated() const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::span<const std::byte> bytes_;
};

}  // namespace lockstep
