#include "core/base/thread_pool.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <latch>
#include <limits>
#include <set>
#include <stdexcept>

#include "core/base/clock.h"

namespace lockstep {
namespace {

struct PoolKind {
  int threads;
  bool spin;
};

class PoolOf : public testing::TestWithParam<PoolKind> {
 protected:
  PoolOptions options() const { return {.spin = GetParam().spin}; }
  int threads() const { return GetParam().threads; }
};
INSTANTIATE_TEST_SUITE_P(Threads, PoolOf,
                         testing::Values(PoolKind{1, true}, PoolKind{2, true}, PoolKind{3, true},
                                         PoolKind{8, true}, PoolKind{2, false}, PoolKind{8, false}),
                         [](const testing::TestParamInfo<PoolKind>& kind) {
                           return fmt::format("{}{}", kind.param.threads,
                                              kind.param.spin ? "" : "WithoutSpinning");
                         });

TEST_P(PoolOf, CallsEveryIndexOnce) {
  ThreadPool pool(threads(), options());
  EXPECT_EQ(pool.threads(), threads());
  for (const std::int64_t count : {0, 1, 2, 7, 1000}) {
    std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
    pool.parallel_for(count, [&](std::int64_t i) { ++calls[static_cast<std::size_t>(i)]; });
    for (const auto& n : calls) EXPECT_EQ(n, 1);
  }
}

TEST_P(PoolOf, WritesAreVisibleToTheCallerAfterManyRounds) {
  ThreadPool pool(threads(), options());
  std::vector<std::int64_t> sums(5, 0);  // not atomic: the rounds order the accesses
  for (int round = 0; round < 2000; ++round) {
    pool.parallel_for(5, [&](std::int64_t i) { sums[static_cast<std::size_t>(i)] += i + round; });
  }
  for (std::int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(sums[static_cast<std::size_t>(i)],
              std::int64_t{2000} * i + std::int64_t{1999} * 1000);
  }
}

TEST_P(PoolOf, RethrowsAndStaysUsable) {
  ThreadPool pool(threads(), options());
  for (int round = 0; round < 100; ++round) {
    EXPECT_THROW(pool.parallel_for(50,
                                   [](std::int64_t i) {
                                     if (i == 17) throw std::runtime_error("17");
                                   }),
                 std::runtime_error);
    std::atomic<int> calls = 0;
    pool.parallel_for(50, [&](std::int64_t) { ++calls; });
    EXPECT_EQ(calls, 50);
  }
}

TEST_P(PoolOf, RethrowsOneOfManyFailures) {
  ThreadPool pool(threads(), options());
  EXPECT_THROW(pool.parallel_for(100, [](std::int64_t) { throw std::logic_error("all"); }),
               std::logic_error);
}

TEST_P(PoolOf, RunsTheStartHookOnEveryWorkerBeforeItsFirstTask) {
  std::mutex mutex;
  std::set<std::thread::id> started;
  {
    PoolOptions with_hook = options();
    with_hook.on_start = [&] {
      const std::lock_guard lock(mutex);
      started.insert(std::this_thread::get_id());
    };
    ThreadPool pool(threads(), with_hook);
    const auto caller = std::this_thread::get_id();
    pool.parallel_for(100, [&](std::int64_t) {
      const std::lock_guard lock(mutex);
      EXPECT_TRUE(std::this_thread::get_id() == caller ||
                  started.contains(std::this_thread::get_id()));
    });
  }
  EXPECT_EQ(started.size(), static_cast<std::size_t>(threads() - 1));
}

TEST(ThreadPool, TheCallerTakesPart) {
  ThreadPool pool(1);
  pool.parallel_for(3, [caller = std::this_thread::get_id()](std::int64_t) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
  });
}

TEST(ThreadPool, ACallDoesNotWaitForAWorkerThatHasNotJoinedIt) {
  std::latch worker_may_start(1);
  ThreadPool pool(2, {.on_start = [&] { worker_may_start.wait(); }});
  int calls = 0;
  pool.parallel_for(10, [&](std::int64_t) { ++calls; });
  EXPECT_EQ(calls, 10);
  worker_may_start.count_down();
}

TEST(ThreadPool, CountsTheTimeOfItsWorkersInTasks) {
  const SteadyClock clock;
  ThreadPool pool(2);
  std::atomic<std::int64_t> least_ns = 0;
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> worked = false;
  pool.parallel_for(2, [&](std::int64_t) {
    if (std::this_thread::get_id() == caller) {
      while (!worked) std::this_thread::yield();  // until the worker has taken the other task
      return;
    }
    const std::int64_t begin_ns = clock.now_ns();
    while (clock.now_ns() - begin_ns < 1'000'000) {
    }
    least_ns = clock.now_ns() - begin_ns;
    worked = true;
  });
  EXPECT_GE(pool.worker_ns(), least_ns);
  const std::int64_t counted = pool.worker_ns();
  pool.parallel_for(1, [](std::int64_t) {});  // the caller's alone
  EXPECT_EQ(pool.worker_ns(), counted);
}

/// Whether arithmetic of this thread flushes denormals, in and out.
bool flushes() {
  volatile float tiny = std::numeric_limits<float>::denorm_min();
  volatile float small = std::numeric_limits<float>::min();
  return tiny * 0x1.0p20F == 0 && small * 0.5F == 0;
}

TEST(FlushDenormals, HoldsForTheCallingThreadOnly) {
  EXPECT_FALSE(flushes());
  std::thread([] {
    flush_denormals();
    EXPECT_TRUE(flushes());
  }).join();
  EXPECT_FALSE(flushes());
}

TEST(FlushDenormals, HoldsOnEveryWorker) {
  const auto caller = std::this_thread::get_id();
  std::atomic<int> workers = 0;
  ThreadPool(3).parallel_for(3, [&](std::int64_t) {
    // The caller holds on to its task until both workers have taken theirs.
    if (std::this_thread::get_id() != caller) {
      EXPECT_TRUE(flushes());
      ++workers;
    }
    while (workers < 2) std::this_thread::yield();
  });
}

}  // namespace
}  // namespace lockstep
