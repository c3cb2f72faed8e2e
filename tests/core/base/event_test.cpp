#include "core/base/event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "core/base/error.h"

namespace lockstep {
namespace {

using testing::ThrowsMessage;

std::exception_ptr failure(const char* message) {
  return std::make_exception_ptr(Error(ErrorKind::kData, message));
}

TEST(Event, IsNotReadyBeforeItIsSet) {
  Event event;
  EXPECT_FALSE(event.is_ready());
  event.set();
  EXPECT_TRUE(event.is_ready());
  EXPECT_EQ(event.error(), nullptr);
  event.wait();
}

TEST(Event, CompletedHasHappened) {
  EXPECT_TRUE(Event::completed()->is_ready());
  Event::completed()->wait();
}

TEST(Event, EveryWaiterSeesTheFailure) {
  Event event;
  event.fail(failure("disk on fire"));
  EXPECT_TRUE(event.is_ready());
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT([&] { event.wait(); }, ThrowsMessage<Error>("disk on fire"));
  }
  event.wait_quietly();
}

TEST(Event, TheFirstMarkCounts) {
  Event failed_first;
  failed_first.fail(failure("first"));
  failed_first.set();
  failed_first.fail(failure("second"));
  EXPECT_THAT([&] { failed_first.wait(); }, ThrowsMessage<Error>("first"));
  Event set_first;
  set_first.set();
  set_first.fail(failure("late"));
  set_first.wait();
}

TEST(Event, RunsCallbacksOnceInOrder) {
  Event event;
  std::string calls;
  event.on_ready([&] { calls += "a"; });
  event.on_ready([&] { calls += "b"; });
  EXPECT_EQ(calls, "");
  event.set();
  EXPECT_EQ(calls, "ab");
  event.on_ready([&] { calls += "c"; });
  event.set();
  EXPECT_EQ(calls, "abc");
}

TEST(Event, CallbacksSeeTheFailureAndMayUseTheEvent) {
  Event event;
  bool nested = false;
  event.on_ready([&] {
    EXPECT_TRUE(event.is_ready());
    EXPECT_NE(event.error(), nullptr);
    event.on_ready([&] { nested = true; });
  });
  event.fail(failure("x"));
  EXPECT_TRUE(nested);
}

TEST(Event, ReleasesItsCallbacksOnceTheyRan) {
  Event event;
  const auto held = std::make_shared<int>(1);
  event.on_ready([held] {});
  EXPECT_EQ(held.use_count(), 2);
  event.set();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Event, WakesAllWaitersAndRunsEveryCallbackExactlyOnce) {
  for (int round = 0; round < 200; ++round) {
    Event event;
    std::atomic<int> woken = 0;
    std::atomic<int> called = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        event.on_ready([&] { ++called; });
        event.wait();
        ++woken;
      });
    }
    threads.emplace_back([&] { event.set(); });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(woken, 3);
    EXPECT_EQ(called, 3);
  }
}

}  // namespace
}  // namespace lockstep
