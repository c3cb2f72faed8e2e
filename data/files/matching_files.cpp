#include "data/files/matching_files.h"

#include <glob.h>

#include "core/base/error.h"

namespace lockstep {

std::vector<std::string> matching_files(const std::string& pattern) {
  glob_t matches{};
  const int code = ::glob(pattern.c_str(), GLOB_TILDE, nullptr, &matches);
  std::vector<std::string> out;
  if (code == 0) out.assign(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  ::globfree(&matches);
  if (out.empty()) raise(ErrorKind::kData, "{}: no such file", pattern);
  return out;
}

}  // namespace lockstep
