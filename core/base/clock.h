// Time is injected: everything that measures takes a Clock, so that tests (and a simulator) can own
// it.
#pragma once

#include <atomic>
#include <cstdint>

namespace lockstep {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Nanoseconds since an arbitrary start; never decreases.
  virtual std::int64_t now_ns() const = 0;
};

/// The machine's monotonic clock.
class SteadyClock final : public Clock {
 public:
  std::int64_t now_ns() const override;
};

/// Seconds since the clock was at `begin_ns`.
inline double seconds_since(const Clock& clock, std::int64_t begin_ns) {
  return static_cast<double>(clock.now_ns() - begin_ns) * 1e-9;
}

/// Nanoseconds of CPU time that the calling thread has used.
std::int64_t thread_cpu_ns();

/// A clock whose time the caller sets.
class ManualClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return now_.load(); }
  void advance_ns(std::int64_t ns) { now_ += ns; }

 private:
  std::atomic<std::int64_t> now_{0};
};

}  // namespace lockstep
