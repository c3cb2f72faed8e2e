// The executable `lockstep`: the process's surroundings put in order, then the command line.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <iostream>
#include <vector>

#include "trainer/cli/command_line.h"

namespace {

/// A broken pipe or a file-size limit is an error of the write that meets it, not a death. A
/// standard descriptor that came closed is opened, lest a checkpoint get its number and be printed
/// into.
void prepare_process() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  while (true) {
    const int fd = open("/dev/null", O_RDWR);
    if (fd < 0) return;
    if (fd > STDERR_FILENO) {
      close(fd);
      return;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  prepare_process();
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  return lockstep::report_errors({}, std::cerr, [&] {
    return lockstep::run_command_line(arguments, lockstep::settings_from_environment(),
                                      {std::cout, std::cerr});
  });
}
