#include "trainer/watchdog.h"

#include <algorithm>
#include <chrono>

#include "core/base/error.h"

namespace lockstep {

Watchdog::Watchdog(const Limits& limits, const Clock& clock, Communicator& communicator, Log& log)
    : limits_(limits),
      clock_(clock),
      communicator_(communicator),
      log_(log),
      since_ns_(clock.now_ns()),
      thread_([this] { run(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::begin(std::int64_t step, const char* activity) {
  const std::lock_guard lock(mutex_);
  step_ = step;
  activity_ = activity;
  since_ns_ = clock_.now_ns();
  warned_ = false;
}

void Watchdog::run() {
  const auto period = std::chrono::duration<double>(
      std::clamp(std::min(limits_.warn_s, limits_.abort_s) / 4, 0.01, 1.0));
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, period, [this] { return stop_; })) check();
}

void Watchdog::check() {
  const double seconds = static_cast<double>(clock_.now_ns() - since_ns_) * 1e-9;
  if (seconds > limits_.warn_s && !warned_) {
    warned_ = true;
    log_.warn(
        "rank {}: no progress for {:.0f} s at step {} while {}; the job ends after {:.0f} s "
        "(distributed.stall_abort_s)",
        communicator_.rank(), seconds, step_, activity_, limits_.abort_s);
  }
  if (seconds > limits_.abort_s)
    communicator_.abort(static_cast<int>(ErrorKind::kPeer),
                        fmt::format("rank {}: no progress for {:.0f} s at step {} while {}",
                                    communicator_.rank(), seconds, step_, activity_));
}

}  // namespace lockstep
