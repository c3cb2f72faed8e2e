#include "core/base/core_wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <latch>
#include <thread>

#include "core/base/clock.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMsOfWait = 1'000'000;

void run_on(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  ASSERT_EQ(sched_setaffinity(0, sizeof(cores), &cores), 0);
}

/// Computes until this thread has used so much of a core.
void compute_for(std::int64_t ns) {
  const std::int64_t end = thread_cpu_ns() + ns;
  while (thread_cpu_ns() < end) {
  }
}

/// What a thread reads of its waits, while another one runs on its core for a time.
struct Readings {
  std::optional<std::int64_t> before, shared, after;
  std::optional<std::int64_t> all;  ///< since the thread began, read last
};

Readings share_a_core() {
  Readings out;
  run_on(sched_getcpu());
  CoreWait waits;
  waits.add_this_thread();
  out.before = waits.read_longest_ns();
  std::atomic<bool> is_done{false};
  std::latch both_run(2);
  std::thread other([&] {  // on the same core
    both_run.arrive_and_wait();
    while (!is_done) {
    }
  });
  both_run.arrive_and_wait();
  compute_for(100 * kMsOfWait);
  out.shared = waits.read_longest_ns();
  is_done = true;
  other.join();
  out.after = waits.read_longest_ns();
  CoreWait later;
  later.add_this_thread();
  out.all = later.read_longest_ns();
  return out;
}

TEST(CoreWait, CountsTheTimeInWhichAnotherThreadHadTheCore) {
  Readings read;
  std::thread([&] { read = share_a_core(); }).join();
  if (!read.shared) GTEST_SKIP() << "this kernel does not count such waits";
  // The other one got about as much of the core; the scheduler's slices are a few milliseconds.
  EXPECT_GE(*read.shared, 50 * kMsOfWait);
  EXPECT_LE(*read.before + *read.shared + *read.after, *read.all) << "each reading starts anew";
}

TEST(CoreWait, IsUnknownWithoutThreads) {
  EXPECT_EQ(CoreWait().read_longest_ns(), std::nullopt);
}

}  // namespace
}  // namespace lockstep
