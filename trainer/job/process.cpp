#include "trainer/job/process.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "core/base/host_memory.h"
#include "trainer/job/report_errors.h"
#include "watch/stop_signals.h"

namespace lockstep {
namespace {

/// Host tensors of a large model live briefly, while parameters are drawn or read. In the middle of
/// the heap their memory would stay resident after they are freed (measured: 0.7 GB per rank for
/// GPT-2 124M); a separate mapping is returned to the system at once. A fixed threshold also keeps
/// glibc from raising it, and the threshold for trimming the heap with it. It is larger than the
/// graph of a step, whose nodes would otherwise be mapped and faulted in again by every step
/// (gpt_micro with 1 MiB: 500 faults and a quarter of the host thread's time).
void return_large_blocks() {
  constexpr int kMapped = 4 << 20;
  constexpr int kKeptAtTheEnd = 32 << 20;
  mallopt(M_MMAP_THRESHOLD, kMapped);
  mallopt(M_TRIM_THRESHOLD, kKeptAtTheEnd);
}

/// A broken pipe or a file-size limit is an error of the write, and does not kill the process. A
/// standard descriptor that is closed is opened, so that a checkpoint cannot get its number and
/// receive printed text.
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

int run_process(int argc, char** argv, const std::function<int(const ProcessCall&)>& body) {
  StopSignals::install();
  return_large_blocks();
  prepare_process();
  prepare_for_lack_of_memory();
  const auto watch = Watch::of_this_process();
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  const int code = report_errors({}, std::cerr, [&] {
    const Settings settings = settings_from_environment();
    return report_errors(settings, std::cerr, [&] { return body({arguments, settings, *watch}); });
  });
  return watch->leave(code);
}

}  // namespace lockstep
