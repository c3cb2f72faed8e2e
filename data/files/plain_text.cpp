#include "data/files/plain_text.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "data/files/printable.h"
#include "data/files/read_text.h"

namespace lockstep {
namespace {

struct Magic {
  std::string_view bytes;
  ForeignFormat format;
};

template <std::size_t N>
constexpr std::string_view bytes(const char (&text)[N]) {
  return {text, N - 1};  // including zero bytes within it
}

constexpr std::string_view kAsJsonl = "write its text column as JSON Lines or plain text first";
constexpr std::string_view kNoText = "give text files";

constexpr std::array kMagics = {
    Magic{bytes("\x1f\x8b"), {"gzip data", "unpack it first (gunzip)"}},
    Magic{bytes("\x28\xb5\x2f\xfd"), {"Zstandard data", "unpack it first (unzstd)"}},
    Magic{bytes("\xfd"
                "7zXZ\0"),
          {"xz data", "unpack it first (unxz)"}},
    Magic{bytes("PK\x03\x04"), {"a zip archive", "unpack it first (unzip)"}},
    Magic{bytes("\x89HDF\r\n\x1a\n"), {"an HDF5 file", kAsJsonl}},
    Magic{bytes("PAR1"), {"a Parquet file", kAsJsonl}},
    Magic{bytes("ARROW1"), {"an Arrow file", kAsJsonl}},
    Magic{bytes("\x93NUMPY"), {"a NumPy array", kNoText}},
    Magic{bytes("SQLite format 3\0"), {"an SQLite database", kAsJsonl}},
    Magic{bytes("\x48\xd8\x34\x01"),
          {"token shards", "train on them as they are (data.type: tokens)"}},
    Magic{bytes("\x89PNG\r\n\x1a\n"), {"a PNG image", kNoText}},
    Magic{bytes("\xff\xd8\xff"), {"a JPEG image", kNoText}},
    Magic{bytes("GIF8"), {"a GIF image", kNoText}},
    Magic{bytes("%PDF-"), {"a PDF document", "write its text out first (pdftotext)"}},
    Magic{bytes("\x7f"
                "ELF"),
          {"a program", kNoText}},
    Magic{bytes("\xff\xfe"), {"UTF-16 text", "make it UTF-8 first (iconv -f UTF-16 -t UTF-8)"}},
    Magic{bytes("\xfe\xff"), {"UTF-16 text", "make it UTF-8 first (iconv -f UTF-16 -t UTF-8)"}},
};

constexpr std::size_t kLookedAt = std::size_t{1} << 16;
/// Text has no zero bytes, except a stray one; numbers have many.
constexpr std::ptrdiff_t kMaxZerosPerMille = 10;

bool is_bzip2(std::string_view contents) {
  return contents.starts_with("BZh") && contents.substr(4).starts_with("1AY&SY");
}

}  // namespace

std::optional<ForeignFormat> foreign_format(std::string_view contents) {
  for (const Magic& magic : kMagics)
    if (contents.starts_with(magic.bytes)) return magic.format;
  if (contents.size() > 4 && is_bzip2(contents))
    return ForeignFormat{"bzip2 data", "unpack it first (bunzip2)"};
  const std::string_view head = contents.substr(0, kLookedAt);
  if (std::ranges::count(head, '\0') * 1000 > std::ssize(head) * kMaxZerosPerMille)
    return ForeignFormat{"binary data, with many zero bytes,", kNoText};
  return std::nullopt;
}

bool looks_like_jsonl(std::string_view contents) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = contents.find_first_not_of(kBlank);
  if (begin == std::string_view::npos || contents[begin] != '{') return false;
  std::string_view line = contents.substr(begin, contents.find('\n', begin) - begin);
  line.remove_prefix(1);
  const std::size_t name = line.find_first_not_of(kBlank);
  if (name == std::string_view::npos || line[name] != '"') return false;
  return line[line.find_last_not_of(kBlank)] == '}' && line.find("\":") != std::string_view::npos;
}

std::string warning_of_jsonl(const std::string& path) {
  return fmt::format(
      "{}: looks like JSON Lines: quotes and names of fields are trained on, too; data.type: jsonl "
      "takes one field of each line",
      printable(path));
}

std::string read_plain_text(const std::string& path) {
  std::string out = read_text(path);
  if (const auto foreign = foreign_format(out))
    raise(ErrorKind::kData, "{}: {} and no text: {}", printable(path), foreign->what,
          foreign->remedy);
  return out;
}

}  // namespace lockstep
