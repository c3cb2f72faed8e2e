#include "checkpoint/hdf5_reader/object_header.h"

#include <string_view>
#include <utility>

#include "checkpoint/hdf5_reader/checksum.h"

namespace lockstep {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n"sv;
constexpr std::uint64_t kFirstUserBlock = 512;
const std::string kSuperblock = "the superblock";

void require_eight_bytes(RegionCursor& in) {
  const int offset = in.number<std::uint8_t>();
  const int length = in.number<std::uint8_t>();
  if (offset != 8 || length != 8)
    in.fail(fmt::format("addresses of {} and lengths of {} bytes are not supported, only of 8",
                        offset, length));
}

void require_whole(const FileRegions& regions, std::uint64_t end) {
  if (const std::uint64_t size = regions.file().size(); end > size)
    regions.fail(kSuperblock,
                 fmt::format("truncated: it was closed with {} bytes, and has {}", end, size));
}

[[noreturn]] void refuse_driver(const FileRegions& regions) {
  raise(regions.file().error_kind(),
        "{}: is one of several files that together hold the data (it names a file driver); join "
        "them into one with h5repart or h5repack",
        regions.file().path());
}

/// Versions 0 and 1.
std::uint64_t read_old_superblock(FileRegions& regions, int version) {
  constexpr std::uint64_t kBegin = 9;
  constexpr std::uint64_t kBytes = 96 - kBegin;
  const auto bytes = regions.read(kBegin, kBytes + (version == 1 ? 4 : 0), kSuperblock);
  RegionCursor in(regions, kSuperblock, bytes);
  in.skip(4);  // versions of other parts
  require_eight_bytes(in);
  in.skip(1 + 2 + 2 + 4 + (version == 1 ? 4 : 0));  // sizes of nodes, flags
  in.skip(8 + 8);                                   // base, free space
  require_whole(regions, in.number<std::uint64_t>());
  if (in.number<std::uint64_t>() != kUndefined) refuse_driver(regions);
  in.skip(8);  // the name of the root
  return in.number<std::uint64_t>();
}

/// Versions 2 and 3.
std::uint64_t read_new_superblock(FileRegions& regions, std::vector<std::byte> begin, int version) {
  constexpr std::uint64_t kBytes = 48;
  const auto rest = regions.read(begin.size(), kBytes - begin.size(), kSuperblock);
  begin.insert(begin.end(), rest.begin(), rest.end());
  verify_checksum(regions, 0, begin, kSuperblock);
  RegionCursor in(regions, kSuperblock, begin);
  in.skip(9);
  require_eight_bytes(in);
  constexpr unsigned kOpenForWriting = 1 | 4;
  if ((in.number<std::uint8_t>() & kOpenForWriting) != 0 && version >= 3)
    raise(regions.file().error_kind(),
          "{}: is being written, or was not closed by its writer (h5clear -s makes it readable "
          "if no process writes it)",
          regions.file().path());
  in.skip(8);  // base
  const auto extension = in.number<std::uint64_t>();
  require_whole(regions, in.number<std::uint64_t>());
  const auto root = in.number<std::uint64_t>();
  if (extension == kUndefined) return root;
  for (const HeaderMessage& message : read_object_header(regions, extension, kSuperblock))
    if (message.kind == HeaderMessage::kDriverInfo) refuse_driver(regions);
  return root;
}

struct Block {
  std::uint64_t address;
  std::uint64_t bytes;
};

/// Which fields messages begin with, and whether they have a checksum.
struct HeaderForm {
  int version;
  bool has_order;
};

void add_messages(RegionCursor in, HeaderForm form, std::vector<HeaderMessage>& out,
                  std::vector<Block>& blocks) {
  const std::size_t prefix = form.version == 1 ? 8 : form.has_order ? 6 : 4;
  while (in.remaining() >= prefix) {
    const std::uint16_t kind =
        form.version == 1 ? in.number<std::uint16_t>() : in.number<std::uint8_t>();
    const auto bytes = in.number<std::uint16_t>();
    const auto flags = in.number<std::uint8_t>();
    in.skip(form.version == 1 ? 3 : form.has_order ? 2 : 0);
    RegionCursor body = in.sub(bytes);
    constexpr std::uint16_t kUnused = 0;
    constexpr std::uint16_t kLastKnown = 0x17;
    constexpr unsigned kShared = 2;
    constexpr unsigned kMustBeKnown = 0x80;
    if (kind == kUnused) continue;
    if (kind > kLastKnown && (flags & kMustBeKnown) != 0)
      in.fail(fmt::format("its header has a message of kind {}, which is not known", kind));
    if (kind == HeaderMessage::kContinuation) {
      const auto address = body.number<std::uint64_t>();
      blocks.push_back({address, body.number<std::uint64_t>()});
      continue;
    }
    const auto taken = body.take(bytes);
    out.push_back({kind, (flags & kShared) != 0, {taken.begin(), taken.end()}});
  }
}

/// The first block of messages of a version 2 header, which begins with `begin`.
std::vector<std::byte> read_new_header(FileRegions& regions, std::uint64_t address,
                                       std::vector<std::byte> begin, const std::string& object) {
  const auto flags = std::to_integer<unsigned>(begin.back());
  const std::size_t size_bytes = std::size_t{1} << (flags & 3);
  const std::size_t other_bytes = ((flags & 0x20) != 0 ? 16 : 0) + ((flags & 0x10) != 0 ? 4 : 0);
  const auto append = [&](std::uint64_t bytes) {
    const auto more = regions.read(address + begin.size(), bytes, object);
    begin.insert(begin.end(), more.begin(), more.end());
    return RegionCursor(regions, object, std::span(begin).last(bytes));
  };
  RegionCursor prefix = append(other_bytes + size_bytes);
  prefix.skip(other_bytes);
  const std::uint64_t bytes = prefix.number_of(size_bytes);
  if (bytes > regions.size()) prefix.fail("its header is longer than the file");
  append(bytes + kChecksumBytes);
  verify_checksum(regions, address, begin, object);
  begin.resize(begin.size() - kChecksumBytes);
  begin.erase(begin.begin(), begin.end() - static_cast<std::ptrdiff_t>(bytes));
  return begin;
}

}  // namespace

std::uint64_t find_superblock(const PosixFile& file) {
  const std::uint64_t size = file.size();
  for (std::uint64_t at = 0; at < size; at = at == 0 ? kFirstUserBlock : 2 * at) {
    std::string found(kSignature.size(), '\0');
    file.read(at, std::as_writable_bytes(std::span(found)));
    if (found == kSignature) return at;
  }
  raise(file.error_kind(), "{}: cannot open as an HDF5 file: file signature not found",
        file.path());
}

std::uint64_t read_superblock(FileRegions& regions) {
  const auto begin = regions.read(0, kSignature.size() + 1, kSuperblock);
  const int version = std::to_integer<int>(begin.back());
  if (version <= 1) return read_old_superblock(regions, version);
  if (version <= 3) return read_new_superblock(regions, begin, version);
  regions.fail(kSuperblock, fmt::format("its version {} is not known", version));
}

std::vector<HeaderMessage> read_object_header(FileRegions& regions, std::uint64_t address,
                                              const std::string& object) {
  constexpr std::size_t kCommonBytes = 6;
  constexpr std::size_t kOldBytes = 16;
  const auto begin = regions.read(address, kCommonBytes, object);
  std::vector<HeaderMessage> out;
  std::vector<Block> blocks;
  HeaderForm form{.version = 1, .has_order = false};
  RegionCursor in(regions, object, begin);
  if (in.number<std::uint8_t>() == 1) {
    const auto rest = regions.read(address + kCommonBytes, kOldBytes - kCommonBytes, object);
    RegionCursor prefix(regions, object, rest);
    prefix.skip(2);  // references, in part
    blocks.push_back({address + kOldBytes, prefix.number<std::uint32_t>()});
  } else {
    RegionCursor head(regions, object, begin);
    head.expect("OHDR\x02"sv, "the version of its header");
    constexpr unsigned kHasOrder = 4;
    form = {.version = 2, .has_order = (head.number<std::uint8_t>() & kHasOrder) != 0};
    const auto first = read_new_header(regions, address, begin, object);
    add_messages({regions, object, first}, form, out, blocks);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [at, bytes] = blocks[i];
    if (form.version == 1) {
      const auto block = regions.read(at, bytes, object);
      add_messages({regions, object, block}, form, out, blocks);
    } else {
      const auto block = read_summed(regions, at, bytes, object);
      RegionCursor messages(regions, object, block);
      messages.expect("OCHK"sv, "a block of its header");
      add_messages(
          messages.sub(messages.remaining() - std::min(messages.remaining(), kChecksumBytes)), form,
          out, blocks);
    }
  }
  return out;
}

}  // namespace lockstep
