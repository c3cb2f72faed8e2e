// Bounds-checked access to a file whose bytes may be hostile.
//
// Every structure of the file claims its bytes, and no byte belongs to two structures. So nothing
// can refer back to itself, and the bytes read in total never exceed the length of the file.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/posix_file.h"

namespace lockstep {

class FileRegions;

/// Parts of HDF5's structures begin at multiples of so many bytes.
inline constexpr std::size_t kHdf5Alignment = 8;
/// The bytes of a part with the padding behind it.
inline std::size_t hdf5_padded(std::size_t bytes) {
  return (bytes + kHdf5Alignment - 1) / kHdf5Alignment * kHdf5Alignment;
}

/// The bytes of one structure, read from front to back. Numbers are little-endian. Errors, also
/// about reading past the end, are of the file's kind and name file and object.
class RegionCursor {
 public:
  RegionCursor(const FileRegions& regions, std::string object, std::span<const std::byte> bytes)
      : regions_(&regions), object_(std::move(object)), rest_(bytes) {}

  std::size_t remaining() const { return rest_.size(); }
  std::span<const std::byte> take(std::size_t bytes);
  RegionCursor sub(std::size_t bytes) { return {*regions_, object_, take(bytes)}; }
  void skip(std::size_t bytes) { take(bytes); }
  template <class T>
  requires std::is_unsigned_v<T> T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  /// A number of 1 to 8 bytes.
  std::uint64_t number_of(std::size_t bytes);
  /// The next bytes must be these. `what` is their name in the error.
  void expect(std::span<const std::uint8_t> bytes, const char* what);
  void expect(std::string_view bytes, const char* what);
  /// The remaining bytes must be padding: less than eight bytes, all zero.
  void expect_padding();
  [[noreturn]] void fail(const std::string& problem) const;

 private:
  const FileRegions* regions_;
  std::string object_;
  std::span<const std::byte> rest_;
};

class FileRegions {
 public:
  /// Addresses count from byte `base` of the file. `verdict` is the text for it in errors: "PATH:
  /// VERDICT: OBJECT: problem".
  FileRegions(const PosixFile& file, std::uint64_t base, const char* verdict);

  const PosixFile& file() const { return file_; }
  std::uint64_t base() const { return base_; }
  /// Bytes from `base` to the end of the file.
  std::uint64_t size() const { return size_; }
  /// Claims bytes without reading them. Error, naming `object`, if they reach past the end or
  /// belong to another structure.
  void claim(std::uint64_t address, std::uint64_t bytes, const std::string& object);
  /// Claims bytes and reads them.
  std::vector<std::byte> read(std::uint64_t address, std::uint64_t bytes,
                              const std::string& object);
  /// Reads bytes that were claimed.
  void read_into(std::uint64_t address, std::span<std::byte> out, const std::string& object) const;
  [[noreturn]] void fail(const std::string& object, const std::string& problem) const;

 private:
  const PosixFile& file_;
  std::uint64_t base_;
  std::uint64_t size_;
  const char* verdict_;
  std::map<std::uint64_t, std::uint64_t> claimed_;  // start -> end
};

}  // namespace lockstep
