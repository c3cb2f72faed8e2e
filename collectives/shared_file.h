// Memory that several processes map: a file without a name (memfd), which is gone as soon as no
// process has it open or mapped, however those processes ended.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep {

/// A range of addresses, unmapped at the end.
class Mapping {
 public:
  Mapping() = default;
  Mapping(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;

  /// Addresses without memory, for replace() to fill. A range of at least a huge page begins at a
  /// multiple of one. Error kOutOfMemory.
  static Mapping reserve(std::size_t bytes);

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class SharedFile {
 public:
  /// Offsets and sizes of mappings are multiples of this.
  static constexpr std::size_t kPage = 4096;
  /// Memory between multiples of this is in huge pages if the system has them: allocating 440 MB
  /// and touching it for the first time then takes half the time.
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;

  /// Identifies a file on one machine.
  struct Id {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    friend bool operator==(const Id&, const Id&) = default;
  };

  /// An empty file of this process. Error kOutOfMemory.
  static SharedFile create();
  /// The file that another process of the same user has open as `descriptor`. Error kPeer if it
  /// cannot be opened or is not the file `id`, for example if processes cannot see each other.
  static SharedFile open_of(std::int64_t process, int descriptor, const Id& id);

  ~SharedFile();
  SharedFile(SharedFile&& other) noexcept;
  SharedFile& operator=(SharedFile&& other) noexcept;

  int descriptor() const { return descriptor_; }
  Id id() const;

  /// Makes [offset, offset + bytes) part of the file, zeroed. Its space is checked and allocated
  /// here, so that no process is killed later because a page is missing. Error kOutOfMemory.
  void grow(std::size_t offset, std::size_t bytes) const;

  /// Maps [offset, offset + bytes), which may lie beyond the end until it is touched. Error
  /// kOutOfMemory.
  Mapping map(std::size_t offset, std::size_t bytes, bool writable) const;
  /// Maps [offset, offset + bytes), read-only, at `address` in a mapping.
  void replace(std::byte* address, std::size_t offset, std::size_t bytes) const;
  /// Returns the memory of [offset, offset + bytes) to the system; the file keeps its length.
  void free(std::size_t offset, std::size_t bytes) const;

 private:
  explicit SharedFile(int descriptor) : descriptor_(descriptor) {}
  void allocate(std::size_t offset, std::size_t bytes) const;
  void allocate_huge_pages(std::size_t offset, std::size_t bytes) const;
  void put(std::byte* address, std::size_t offset, std::size_t bytes, int access) const;
  int descriptor_ = -1;
};

}  // namespace lockstep
