#include "trainer/cli/standard_output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ostream>

#include "core/base/error.h"

namespace lockstep {
namespace {

bool reader_has_gone() {
  pollfd descriptor{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return poll(&descriptor, 1, 0) == 1 && (descriptor.revents & POLLERR) != 0;
}

void finish(bool written) {
  if (!written && !reader_has_gone())
    raise(ErrorKind::kInternal, "standard output cannot be written");
}

}  // namespace

void finish_output(std::ostream& out) {
  finish(static_cast<bool>(out.flush()));
}

void finish_standard_output() {
  finish(std::fflush(stdout) == 0 && std::ferror(stdout) == 0);
}

}  // namespace lockstep
