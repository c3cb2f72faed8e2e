#include "bench/limits/busy_cores.h"

#include <time.h>

#include <algorithm>
#include <barrier>
#include <thread>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/thread_pool.h"

namespace lockstep {
namespace {

double seconds_now(Time time) {
  timespec now{};
  ::clock_gettime(time == Time::kThread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double time_of(const std::function<void()>& work, int calls, Time time) {
  const double begin = seconds_now(time);
  for (int i = 0; i < calls; ++i) work();
  return (seconds_now(time) - begin) / calls;
}

/// Calls for `seconds`; the least time of a call.
double time_calls(const std::function<void()>& work, double seconds, Time time) {
  constexpr double kTimed = 100e-6;  // against which looking at the clock is nothing
  double least = time_of(work, 1, time);
  const int calls = static_cast<int>(std::clamp(kTimed / least, 1.0, 1e4));
  const double begin = seconds_now(Time::kWall);
  do {
    least = std::min(least, time_of(work, calls, time));
  } while (seconds_now(Time::kWall) - begin < seconds);
  return least;
}

// A function of its own, with arrays that are told apart: the loop is vectorized.
void triad(float* __restrict a, const float* __restrict b, const float* __restrict c, float s,
           std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) a[i] = b[i] + s * c[i];
}

}  // namespace

double least_seconds(const MakeWork& make_work, int threads, double seconds, Time time) {
  std::vector<double> least(static_cast<std::size_t>(threads));
  std::barrier start(threads);
  std::vector<std::jthread> running;
  for (double& result : least)
    running.emplace_back([&] {
      flush_denormals();
      const std::function<void()> work = make_work();
      work();
      start.arrive_and_wait();
      result = time_calls(work, seconds, time);
    });
  running.clear();
  return *std::min_element(least.begin(), least.end());
}

double triad_bandwidth(int threads) {
  constexpr std::int64_t kCount = 1 << 24;  // 64 MiB an array
  constexpr double kSeconds = 0.5;
  const auto make = [] {
    std::vector<BufferPtr> arrays;
    for (int i = 0; i < 3; ++i) {
      arrays.push_back(allocate_host(kCount * sizeof(float)));
      auto* values = reinterpret_cast<float*>(arrays.back()->data());
      std::fill(values, values + kCount, 1.0F);
    }
    return [arrays] {
      const auto at = [&](std::size_t i) { return reinterpret_cast<float*>(arrays[i]->data()); };
      triad(at(0), at(1), at(2), 3.0F, kCount);
    };
  };
  return 3.0 * kCount * sizeof(float) / least_seconds(make, threads, kSeconds, Time::kWall);
}

}  // namespace lockstep
