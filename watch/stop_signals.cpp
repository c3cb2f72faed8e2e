#include "watch/stop_signals.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace lockstep {
namespace {

// A signal handler can reach only globals: these are the exception to the rule against them.
std::atomic<int> first_signal{0};
std::atomic<bool> from_parent{false};
std::atomic<std::int64_t> first_interrupt_ns{0};
std::atomic<int> wake_descriptor{-1};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

constexpr std::int64_t kImpatience = 1'000'000'000;  // nanoseconds

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void on_signal(int number, siginfo_t* info, void* /*context*/) {
  const int error = errno;
  if (number == SIGINT) {
    std::int64_t first = 0;
    const std::int64_t now = now_ns();
    if (!first_interrupt_ns.compare_exchange_strong(first, now) && now - first >= kImpatience) {
      ::signal(SIGINT, SIG_DFL);
      ::raise(SIGINT);  // comes through when this handler returns
    }
  }
  if (number != SIGUSR1 && info != nullptr && info->si_code <= 0 && info->si_pid == ::getppid())
    from_parent = true;
  int none = 0;
  first_signal.compare_exchange_strong(none, number);
  if (const int wake = wake_descriptor; wake >= 0) {
    const std::uint64_t one = 1;
    (void)!::write(wake, &one, sizeof one);
  }
  errno = error;
}

}  // namespace

void StopSignals::install() {
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) ::sigaction(number, &action, nullptr);
}

bool StopSignals::requested() {
  return first_signal != 0;
}

const char* StopSignals::name() {
  switch (first_signal) {
    case SIGINT: return "SIGINT";
    case SIGTERM: return "SIGTERM";
    case SIGUSR1: return "SIGUSR1";
    default: return "";
  }
}

bool StopSignals::sent_by_parent() {
  return from_parent;
}

void StopSignals::set_wake_descriptor(int descriptor) {
  wake_descriptor = descriptor;
}

}  // namespace lockstep
