#include "checkpoint/written_bytes.h"

#include <algorithm>
#include <cstring>

#include "checkpoint/content_digest.h"
#include "checkpoint/header_block.h"

namespace lockstep {
namespace {

[[noreturn]] void raise_difference(const PosixFile& file, std::uint64_t offset) {
  raise(file.error_kind(),
        "{}: the file does not read back as it was written, at byte {} or shortly after",
        file.path(), offset);
}

// Compares the bytes of a file, read from front to back, with memory.
class CopyComparison {
 public:
  explicit CopyComparison(std::vector<MemoryCopy> copies) : copies_(std::move(copies)) {
    std::sort(copies_.begin(), copies_.end(),
              [](const MemoryCopy& a, const MemoryCopy& b) { return a.offset < b.offset; });
  }

  bool matches(std::uint64_t offset, std::span<const std::byte> bytes) {
    const std::uint64_t end = offset + bytes.size();
    for (; next_ < copies_.size() && copies_[next_].offset < end; ++next_) {
      const MemoryCopy& copy = copies_[next_];
      const std::uint64_t copy_end = copy.offset + copy.memory.size();
      const std::uint64_t from = std::max(copy.offset, offset);
      const std::uint64_t to = std::min(copy_end, end);
      if (from < to && std::memcmp(bytes.data() + (from - offset),
                                   copy.memory.data() + (from - copy.offset), to - from) != 0) {
        return false;
      }
      if (copy_end > end) break;  // continues in the next bytes
    }
    return true;
  }

  /// Whether all copies were compared.
  bool is_done() const { return next_ == copies_.size(); }

 private:
  std::vector<MemoryCopy> copies_;
  std::size_t next_ = 0;
};

}  // namespace

template <class Visit>
void WrittenBytes::for_each_page(std::uint64_t offset, std::size_t size, Visit visit) {
  for (std::size_t done = 0; done < size;) {
    const std::size_t in_page = (offset + done) % kPageBytes;
    const std::size_t count = std::min(size - done, kPageBytes - in_page);
    visit((offset + done) / kPageBytes, in_page, done, count);
    done += count;
  }
}

void WrittenBytes::record(std::uint64_t offset, std::span<const std::byte> bytes) {
  for_each_page(offset, bytes.size(), [&](auto number, auto in_page, auto at, auto count) {
    Page& page = pages_[number];
    std::memcpy(page.bytes.data() + in_page, bytes.data() + at, count);
    for (std::size_t i = 0; i < count; ++i) page.known.set(in_page + i);
  });
  end_ = std::max<std::uint64_t>(end_, offset + bytes.size());
}

void WrittenBytes::copy(std::uint64_t offset, std::span<std::byte> out) const {
  for_each_page(offset, out.size(), [&](auto number, auto in_page, auto at, auto count) {
    const auto found = pages_.find(number);
    if (found == pages_.end()) {
      std::memset(out.data() + at, 0, count);
    } else {
      std::memcpy(out.data() + at, found->second.bytes.data() + in_page, count);
    }
  });
}

bool WrittenBytes::matches(std::uint64_t offset, std::span<const std::byte> bytes) const {
  bool same = true;
  for_each_page(offset, bytes.size(), [&](auto number, auto in_page, auto at, auto count) {
    const auto found = pages_.find(number);
    if (found == pages_.end()) return;
    const Page& page = found->second;
    for (std::size_t i = 0; i < count; ++i) {
      same &= !page.known.test(in_page + i) || page.bytes.at(in_page + i) == bytes[at + i];
    }
  });
  return same;
}

void seal(PosixFile& file, const WrittenBytes& written, std::vector<MemoryCopy> copies) {
  CopyComparison comparison(std::move(copies));
  HeaderBlock header;
  header.file_bytes = file.size();
  header.digest = content_digest(file, [&](std::uint64_t offset, std::span<const std::byte> bytes) {
    if (!written.matches(offset, bytes) || !comparison.matches(offset, bytes))
      raise_difference(file, offset);
  });
  if (written.end() > header.file_bytes || !comparison.is_done())
    raise_difference(file, header.file_bytes);
  const auto block = encode_header(header);
  file.write(0, block);
  file.check_writes();
  auto read_back = block;
  if (file.read(0, read_back) < block.size() || read_back != block) raise_difference(file, 0);
}

}  // namespace lockstep
