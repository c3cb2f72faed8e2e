#include "data/files/read_text.h"

#include "core/base/error.h"
#include "data/files/mapped_file.h"

namespace lockstep {

std::string read_text(const std::string& path) {
  const MappedFile file(path);
  if (file.bytes().empty()) {
    raise(ErrorKind::kData, "{}: the file is empty (0 bytes), but text is needed", path);
  }
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

}  // namespace lockstep
