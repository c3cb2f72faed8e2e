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

/// Host tensors of a large model live briefly, while parameters are drawn or read. In the heap's
/// middle they would stay resident after they died (measured: 0.7 GB a rank for GPT-2 124M); a
/// mapping of its own goes back to the system at once. Setting the threshold also keeps glibc from
/// raising it, and with it the one for giving back the heap's end, which every step would meet. It
/// is above the graph of a step, whose nodes would be mapped and faulted in anew by every step
/// (gpt_micro with 1 MiB: 500 faults and a quarter of the host thread's time).
void return_large_blocks() {
  constexpr int kMapped = 4 << 20;
  constexpr int kKeptAtTheEnd = 32 << 20;
  mallopt(M_MMAP_THRESHOLD, kMapped);
  mallopt(M_TRIM_THRESHOLD, kKeptAtTheEnd);
}

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
