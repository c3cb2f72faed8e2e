// The bytes that HDF5 wrote to a file, kept in memory. The file is compared with them when it is
// read back, so that a lost write is found before the file is trusted.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/base/posix_file.h"

namespace lockstep {

/// Keeps bytes by their offset; later ones replace earlier ones. Used for a file's structure and
/// small data: large tensors are compared with their own memory instead.
class WrittenBytes {
 public:
  void record(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Copies the recorded bytes; zero where nothing was recorded.
  void copy(std::uint64_t offset, std::span<std::byte> out) const;
  /// Whether `bytes`, read at `offset`, equal the recorded ones.
  bool matches(std::uint64_t offset, std::span<const std::byte> bytes) const;
  /// The offset after the last recorded byte.
  std::uint64_t end() const { return end_; }

 private:
  static constexpr std::size_t kPageBytes = 4096;
  struct Page {
    std::array<std::byte, kPageBytes> bytes{};
    std::bitset<kPageBytes> known;
  };
  // Calls visit(page number, first byte in the page, first byte in the range, bytes) per page.
  template <class Visit>
  static void for_each_page(std::uint64_t offset, std::size_t size, Visit visit);

  std::map<std::uint64_t, Page> pages_;
  std::uint64_t end_ = 0;
};

/// Memory whose copy is in a file.
struct MemoryCopy {
  std::uint64_t offset;  ///< in the file
  std::span<const std::byte> memory;
};

/// Writes the header of a checkpoint (header_block.h) whose contents, from byte 512 on, are
/// complete, if they read back equal to `written` and `copies`. They are read once: the digest
/// covers the compared bytes. Error of the file's kind, without a header, if they differ.
void seal(PosixFile& file, const WrittenBytes& written, std::vector<MemoryCopy> copies);

}  // namespace lockstep
