#include "trainer/stop_signal.h"

#include <csignal>

namespace lockstep {
namespace {

// A signal handler can reach nothing but a global: this one flag is the exception to the rule that
// there are none.
volatile std::sig_atomic_t stop_requested = 0;

void on_signal(int) {
  stop_requested = 1;
}

void install(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal() {
  stop_requested = 0;
  install(on_signal);
}

StopSignal::~StopSignal() {
  install(SIG_DFL);
}

bool StopSignal::requested() const {
  return stop_requested != 0;
}

}  // namespace lockstep
