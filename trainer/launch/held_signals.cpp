#include "trainer/launch/held_signals.h"

#include <chrono>

namespace lockstep {
namespace {

constexpr std::chrono::milliseconds kSignalPoll{100};

}  // namespace

HeldSignals::HeldSignals() {
  sigemptyset(&held_);
  for (const int number : {SIGTERM, SIGINT, SIGUSR1, SIGCHLD}) sigaddset(&held_, number);
  sigprocmask(SIG_BLOCK, &held_, &before_);
}

HeldSignals::~HeldSignals() {
  const timespec at_once{};
  while (sigtimedwait(&held_, nullptr, &at_once) > 0) {
  }  // Slurm signals a job that it has requeued
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int HeldSignals::take() const {
  const timespec wait{0, std::chrono::nanoseconds(kSignalPoll).count()};
  const int number = sigtimedwait(&held_, nullptr, &wait);
  return number > 0 ? number : 0;
}

}  // namespace lockstep
