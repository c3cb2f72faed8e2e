// Reads a file from the front, up to a limit. Gzip data (recognized by content, not by name) is
// inflated on the way: the limit matters because a few bytes of it can become gigabytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lockstep {

class ByteReader {
 public:
  static constexpr std::int64_t kMaxBytes = std::int64_t{4} << 30;

  /// Error kData naming the file if it cannot be opened, is not a regular file, or is larger than
  /// `max_bytes`.
  explicit ByteReader(const std::string& path, std::int64_t max_bytes = kMaxBytes);
  ~ByteReader();

  const std::string& path() const { return path_; }
  std::uint64_t max_bytes() const { return max_bytes_; }

  /// The next `count` bytes, or fewer at the end of the file. Memory grows with the bytes read, not
  /// with `count`, so that a false header cannot exhaust it. Error kData on damaged gzip data, and
  /// if it inflates to more than the limit.
  std::vector<std::uint8_t> read(std::uint64_t count);
  std::vector<std::uint8_t> read_all();

  /// Number of bytes left; consumes them.
  std::uint64_t skip_to_end();

 private:
  struct Stream;
  std::size_t read_some(std::uint8_t* to, std::size_t count);

  std::string path_;
  std::uint64_t max_bytes_;
  std::uint64_t delivered_ = 0;
  std::unique_ptr<Stream> stream_;
};

}  // namespace lockstep
