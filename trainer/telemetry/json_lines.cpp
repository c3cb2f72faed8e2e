#include "trainer/telemetry/json_lines.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/base/posix_file.h"

namespace lockstep {

void for_each_json_line(const std::string& path, const std::function<void(JsonLine)>& visit) {
  constexpr std::uint64_t kPiece = 1 << 18;
  const PosixFile file = PosixFile::open(path, ErrorKind::kUsage);
  const std::uint64_t size = file.size();
  std::string piece(std::min(size, kPiece), '\0');
  JsonLine line;
  for (std::uint64_t at = 0; at < size;) {
    const auto part = std::as_writable_bytes(std::span(piece));
    const std::size_t got = file.read(at, part.first(std::min(size - at, kPiece)));
    if (got == 0) break;  // it was cut meanwhile
    at += got;
    for (std::string_view left(piece.data(), got); !left.empty();) {
      const std::size_t end = left.find('\n');
      const std::string_view more = left.substr(0, end);
      if (line.text.size() + more.size() > kMaxJsonLineBytes)
        raise(ErrorKind::kUsage, "{}:{}: has more than {} bytes, which no line of a run has", path,
              line.number, kMaxJsonLineBytes);
      line.text += more;
      if (end == std::string_view::npos) break;
      left.remove_prefix(end + 1);
      const std::int64_t next = line.number + 1;
      visit(std::exchange(line, {.number = next}));
    }
  }
  line.torn = true;
  if (!line.text.empty()) visit(std::move(line));
}

}  // namespace lockstep
