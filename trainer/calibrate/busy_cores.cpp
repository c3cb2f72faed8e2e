#include "trainer/calibrate/busy_cores.h"

#include <algorithm>
#include <barrier>
#include <limits>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "core/base/thread_pool.h"

namespace lockstep {
namespace {

double seconds_now() {
  const SteadyClock clock;
  return 1e-9 * static_cast<double>(clock.now_ns());
}

double time_of(const std::function<void()>& work, int calls) {
  const double begin = seconds_now();
  for (int i = 0; i < calls; ++i) work();
  return (seconds_now() - begin) / calls;
}

/// Calls for `seconds`; returns the minimum time of a call. The first one only tells how many are
/// timed together.
double time_calls(const std::function<void()>& work, double seconds) {
  constexpr double kTimed = 100e-6;  // long enough that reading the clock is negligible
  const double once = time_of(work, 1);
  const int calls = static_cast<int>(std::clamp(kTimed / once, 1.0, 1e4));
  double min = std::numeric_limits<double>::infinity();
  const double begin = seconds_now();
  do {
    min = std::min(min, time_of(work, calls));
  } while (seconds_now() - begin < seconds);
  return min;
}

}  // namespace

double min_seconds(const MakeWork& make_work, int threads, double seconds) {
  std::vector<double> min(static_cast<std::size_t>(threads));
  std::barrier start(threads);
  std::vector<std::jthread> running;
  running.reserve(min.size());
  for (double& result : min)
    running.emplace_back([&] {
      flush_denormals();
      const std::function<void()> work = make_work();
      work();
      start.arrive_and_wait();
      result = time_calls(work, seconds);
    });
  running.clear();
  return *std::min_element(min.begin(), min.end());
}

}  // namespace lockstep
