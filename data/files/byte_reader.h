// Reads a file from the front, inflating it on the way if it is gzip data (recognized by content,
// not by name).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lockstep {

class ByteReader {
 public:
  /// Error kData naming the file if it cannot be opened or is not a regular file.
  explicit ByteReader(const std::string& path);
  ~ByteReader();

  const std::string& path() const { return path_; }

  /// The next `count` bytes, or fewer at the end of the file. Memory grows with what is read, not
  /// with `count`, so that a lying header cannot exhaust it. Error kData on damaged gzip data.
  std::vector<std::uint8_t> read(std::uint64_t count);
  std::vector<std::uint8_t> read_all();

  /// How many bytes are left; consumes them.
  std::uint64_t skip_to_end();

 private:
  struct Stream;
  std::size_t read_some(std::uint8_t* to, std::size_t count);

  std::string path_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace lockstep
