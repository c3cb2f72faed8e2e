#include "core/base/thread_pool.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <stdexcept>

namespace lockstep {
namespace {

class PoolOf : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, PoolOf, testing::Values(1, 2, 3, 8));

TEST_P(PoolOf, CallsEveryIndexOnce) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(pool.threads(), GetParam());
  for (const std::int64_t count : {0, 1, 2, 7, 1000}) {
    std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
    pool.parallel_for(count, [&](std::int64_t i) { ++calls[static_cast<std::size_t>(i)]; });
    for (const auto& n : calls) EXPECT_EQ(n, 1);
  }
}

TEST_P(PoolOf, WritesAreVisibleToTheCallerAfterManyRounds) {
  ThreadPool pool(GetParam());
  std::vector<std::int64_t> sums(5, 0);  // not atomic: the rounds order the accesses
  for (int round = 0; round < 2000; ++round) {
    pool.parallel_for(5, [&](std::int64_t i) { sums[static_cast<std::size_t>(i)] += i + round; });
  }
  for (std::int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(sums[static_cast<std::size_t>(i)], 2000 * i + 1999 * 1000);
  }
}

TEST_P(PoolOf, RethrowsAndStaysUsable) {
  ThreadPool pool(GetParam());
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
  ThreadPool pool(GetParam());
  EXPECT_THROW(pool.parallel_for(100, [](std::int64_t) { throw std::logic_error("all"); }),
               std::logic_error);
}

TEST_P(PoolOf, RunsTheStartHookOnEveryWorkerBeforeItsFirstTask) {
  std::mutex mutex;
  std::set<std::thread::id> started;
  {
    ThreadPool pool(GetParam(), [&] {
      const std::lock_guard lock(mutex);
      started.insert(std::this_thread::get_id());
    });
    const auto caller = std::this_thread::get_id();
    pool.parallel_for(100, [&](std::int64_t) {
      const std::lock_guard lock(mutex);
      EXPECT_TRUE(std::this_thread::get_id() == caller ||
                  started.contains(std::this_thread::get_id()));
    });
  }
  EXPECT_EQ(started.size(), static_cast<std::size_t>(GetParam() - 1));
}

TEST(ThreadPool, TheCallerTakesPart) {
  ThreadPool pool(1);
  pool.parallel_for(3, [caller = std::this_thread::get_id()](std::int64_t) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
  });
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
