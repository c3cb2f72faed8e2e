#include "trainer/launch/start_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kSecondNs = 1'000'000'000;

/// What it says at that time, once the hosts have had real time to answer.
std::vector<std::string> word_at(StartWatch& watch, std::int64_t second) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(1);
  std::vector<std::string> out;
  while (out.empty() && Clock::now() < end) {
    out = watch.look(second * kSecondNs);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return out;
}

TEST(StartWatch, WaitsLongForAHostThatNeverAnswered) {
  StartWatch watch({"127.0.0.1", "node.invalid"}, 1800, 0);
  EXPECT_THAT(word_at(watch, 59), IsEmpty());
  EXPECT_THAT(word_at(watch, 61), ElementsAre(HasSubstr("'node.invalid' has no address")));
}

TEST(StartWatch, WaitsShortlyForAHostThatHasAnswered) {
  std::atomic<bool> is_cut{false};
  StartWatch watch({"node1", "node2"}, 1800, 0, [&](const std::vector<std::string>&) {
    return std::vector<std::string>{"", is_cut ? "node2 is silent" : ""};
  });
  EXPECT_THAT(word_at(watch, 4), IsEmpty());
  is_cut = true;
  EXPECT_THAT(word_at(watch, 13), IsEmpty()) << "it answered at second 4";
  EXPECT_THAT(word_at(watch, 15), ElementsAre("node2 is silent"));
}

TEST(StartWatch, WaitsForHostsThatAnswer) {
  StartWatch watch({"127.0.0.1"}, 1800, 0);
  EXPECT_THAT(word_at(watch, 29), IsEmpty());
  EXPECT_THAT(word_at(watch, 1799), IsEmpty());
  EXPECT_THAT(word_at(watch, 1801), ElementsAre("mpirun has started no rank in 1800 s"));
}

TEST(StartWatch, KnowsTheLimitWithoutHosts) {
  StartWatch watch({}, 60, 0);
  EXPECT_THAT(watch.look(59 * kSecondNs), IsEmpty());
  EXPECT_THAT(watch.look(61 * kSecondNs), ElementsAre("mpirun has started no rank in 60 s"));
}

}  // namespace
}  // namespace lockstep
