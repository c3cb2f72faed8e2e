#include "core/base/error.h"

#include <cerrno>
#include <cstring>

namespace lockstep {

void raise_internal(const char* file, int line, const char* condition, const std::string& message) {
  throw Error(ErrorKind::kInternal, fmt::format("internal error at {}:{}: {} (check `{}` failed)",
                                                file, line, message, condition));
}

void raise_errno(ErrorKind kind, const std::string& what) {
  const int code = errno;
  throw Error(kind, fmt::format("{}: {}", what, std::strerror(code)));
}

}  // namespace lockstep
