#include "data/files/read_text.h"

#include <span>

#include "core/base/error.h"
#include "data/files/source_file.h"

namespace lockstep {

std::string read_text(const std::string& path, std::uint64_t max_bytes) {
  const SourceFile file(path);
  if (file.size() == 0) {
    raise(ErrorKind::kData, "{}: the file is empty (0 bytes), but text is needed", path);
  }
  if (file.size() > max_bytes)
    raise(ErrorKind::kData, "{}: has {} bytes, more than the maximum of {}", path, file.size(),
          max_bytes);
  std::string out(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(out)));
  return out;
}

}  // namespace lockstep
