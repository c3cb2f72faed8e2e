#include "checkpoint/hdf5_reader/file_regions.h"

#include <algorithm>

namespace lockstep {
std::span<const std::byte> RegionCursor::take(std::size_t bytes) {
  if (bytes > rest_.size()) {
    fail(fmt::format("{} bytes are needed, but {} remain", bytes, rest_.size()));
  }
  const auto taken = rest_.first(bytes);
  rest_ = rest_.subspan(bytes);
  return taken;
}

void RegionCursor::expect(std::span<const std::uint8_t> bytes, const char* what) {
  if (std::memcmp(take(bytes.size()).data(), bytes.data(), bytes.size()) != 0) {
    fail(fmt::format("{} is not as expected", what));
  }
}

void RegionCursor::expect(std::string_view bytes, const char* what) {
  expect({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, what);
}

void RegionCursor::expect_padding() {
  const bool is_zero =
      std::all_of(rest_.begin(), rest_.end(), [](std::byte b) { return b == std::byte{0}; });
  if (rest_.size() >= kHdf5Alignment || !is_zero) fail("something follows where nothing should");
}

std::uint64_t RegionCursor::number_of(std::size_t bytes) {
  std::uint64_t value = 0;
  LS_CHECK(bytes >= 1 && bytes <= sizeof value, "a number of {} bytes", bytes);
  std::memcpy(&value, take(bytes).data(), bytes);
  return value;
}

void RegionCursor::fail(const std::string& problem) const {
  regions_->fail(object_, problem);
}

FileRegions::FileRegions(const PosixFile& file, std::uint64_t base, const char* verdict)
    : file_(file),
      base_(base),
      size_(file.size() - std::min(file.size(), base)),
      verdict_(verdict) {}

void FileRegions::claim(std::uint64_t address, std::uint64_t bytes, const std::string& object) {
  if (address > size_ || bytes > size_ - address) {
    fail(object, fmt::format("{} bytes at {} reach past the end of the file", bytes, address));
  }
  if (bytes == 0) return;
  const auto next = claimed_.lower_bound(address);
  const bool meets_next = next != claimed_.end() && next->first < address + bytes;
  const bool meets_last = next != claimed_.begin() && std::prev(next)->second > address;
  if (meets_next || meets_last) {
    fail(object, fmt::format("{} bytes at {} belong to another object too", bytes, address));
  }
  claimed_.emplace_hint(next, address, address + bytes);
}

std::vector<std::byte> FileRegions::read(std::uint64_t address, std::uint64_t bytes,
                                         const std::string& object) {
  claim(address, bytes, object);
  std::vector<std::byte> out(bytes);
  read_into(address, out, object);
  return out;
}

void FileRegions::read_into(std::uint64_t address, std::span<std::byte> out,
                            const std::string& object) const {
  if (file_.read(base_ + address, out) < out.size()) fail(object, "the file became shorter");
}

void FileRegions::fail(const std::string& object, const std::string& problem) const {
  raise(file_.error_kind(), "{}: {}: {}: {}", file_.path(), verdict_, object, problem);
}

}  // namespace lockstep
