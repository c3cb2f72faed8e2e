#include "core/base/activity.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "core/base/phase_scope.h"

namespace lockstep {
namespace {

// Campaigns read the page so: tests/campaigns/phased_jobs.py.
static_assert(offsetof(ActivityPage, host) == 128 && offsetof(ActivityPage, device) == 216);
static_assert(offsetof(ActivityPage::Lane, phase) == 0);

/// A page as the watch maps one: all zero.
std::shared_ptr<ActivityPage> zeroed_page() {
  void* memory = ::operator new(sizeof(ActivityPage), std::align_val_t(alignof(ActivityPage)));
  std::memset(memory, 0, sizeof(ActivityPage));
  return {static_cast<ActivityPage*>(memory),
          [](ActivityPage* p) { ::operator delete(p, std::align_val_t(alignof(ActivityPage))); }};
}

TEST(Activity, FitsOnePage) {
  EXPECT_LE(sizeof(ActivityPage), 4096U);
}

TEST(Activity, WithoutAPagePublishesNothing) {
  const Activity activity;
  activity.progress();
  activity.begin(Phase::kEvaluate, 3, "batch");
  activity.command("dot_general");
  const ForeignCall call(activity, "fsync");
  const PeerWait wait(activity, "all_reduce", 3);
  EXPECT_EQ(activity.page(), nullptr);
}

TEST(Activity, PublishesPhaseStepAndCommand) {
  const auto page = zeroed_page();
  const Activity activity(page.get());
  activity.begin(Phase::kTrace, 812, "gpt");
  activity.begin_on_device(Phase::kForward, 811);
  activity.command("dot_general");
  EXPECT_EQ(static_cast<Phase>(page->host.phase.load()), Phase::kTrace);
  EXPECT_EQ(page->host.step_plus_one.load(), 813);
  EXPECT_EQ(page->host.what.load(), "gpt");
  EXPECT_EQ(static_cast<Phase>(page->device.phase.load()), Phase::kForward);
  EXPECT_EQ(page->device.step_plus_one.load(), 812);
  EXPECT_EQ(page->device.what.load(), "dot_general");
}

TEST(Activity, ReturnsFromAPhaseToTheOneBefore) {
  const auto page = zeroed_page();
  const Activity activity(page.get());
  activity.begin(Phase::kEvaluate, 7);
  {
    const PhaseScope scope(activity, Phase::kCompile, 7);
    EXPECT_EQ(static_cast<Phase>(page->host.phase.load()), Phase::kCompile);
  }
  EXPECT_EQ(static_cast<Phase>(page->host.phase.load()), Phase::kEvaluate);
  EXPECT_EQ(page->host.step_plus_one.load(), 8);
}

TEST(Activity, EverythingThatBeginsIsProgress) {
  const auto page = zeroed_page();
  const Activity activity(page.get());
  std::uint64_t last = 0;
  const auto moved = [&] {
    const std::uint64_t before = std::exchange(last, page->progress.load());
    return last > before;
  };
  activity.progress(5);
  EXPECT_EQ(page->progress.load(), 5U);
  EXPECT_TRUE(moved());
  activity.begin(Phase::kTrace, 1);
  EXPECT_TRUE(moved());
  activity.begin_on_device(Phase::kForward, 1);
  EXPECT_TRUE(moved());
  activity.command("add");
  EXPECT_TRUE(moved());
  { const ForeignCall call(activity, "fsync"); }
  EXPECT_TRUE(moved());
  { const PeerWait wait(activity, "all_reduce"); }
  EXPECT_TRUE(moved());
  EXPECT_FALSE(moved());
}

TEST(Activity, NamesForeignCallsWhileTheyLast) {
  const auto page = zeroed_page();
  const Activity activity(page.get());
  const auto named = [&](const std::string& name) {
    for (const ActivityPage::Foreign& call : page->foreign)
      if (call.used.load() != 0 && call.name.load() == name) return true;
    return false;
  };
  {
    const ForeignCall outer(activity, "Dataset::get");
    const ForeignCall inner(activity, "fsync");
    EXPECT_TRUE(named("Dataset::get"));
    EXPECT_TRUE(named("fsync"));
  }
  EXPECT_FALSE(named("Dataset::get"));
  EXPECT_FALSE(named("fsync"));
}

TEST(Activity, HoldsMoreForeignCallsThanItCanName) {
  const auto page = zeroed_page();
  const Activity activity(page.get());
  {
    std::vector<std::unique_ptr<ForeignCall>> calls;
    for (int i = 0; i < 2 * ActivityPage::kForeignCalls; ++i)
      calls.push_back(std::make_unique<ForeignCall>(activity, "call"));
    for (const ActivityPage::Foreign& call : page->foreign) EXPECT_EQ(call.used.load(), 1U);
  }
  for (const ActivityPage::Foreign& call : page->foreign) EXPECT_EQ(call.used.load(), 0U);
}

TEST(Activity, CountsThreadsThatWaitForOtherRanks) {
  const auto page = zeroed_page();
  const Activity activity(page.get());
  {
    const PeerWait one(activity, "exchange 'resume from'");
    const PeerWait two(activity, "all_reduce bucket 4", 7);
    EXPECT_EQ(page->peer_waiters.load(), 2U);
    EXPECT_EQ(page->peer_wait.load(), "all_reduce bucket 4");
    EXPECT_EQ(page->peer_step_plus_one.load(), 8);
  }
  EXPECT_EQ(page->peer_waiters.load(), 0U);
}

TEST(SharedText, KeepsWhatFits) {
  const auto page = zeroed_page();
  SharedText& text = page->host.what;
  EXPECT_EQ(text.load(), "");
  for (const std::size_t length : {0UL, 1UL, 7UL, 8UL, 9UL, SharedText::kBytes - 1}) {
    text.store(std::string(SharedText::kBytes - 1, 'y'));
    text.store(std::string(length, 'x'));
    EXPECT_EQ(text.load(), std::string(length, 'x'));
  }
  text.store(std::string(3 * SharedText::kBytes, 'z'));
  EXPECT_EQ(text.load(), std::string(SharedText::kBytes - 1, 'z'));
}

TEST(SharedText, IsReadWhileItIsWritten) {
  const auto page = zeroed_page();
  SharedText& text = page->host.what;
  text.store("aaaaaaaaaaaaaaaaaaaaaaaaaaaa");
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    while (!stop) {
      text.store("aaaaaaaaaaaaaaaaaaaaaaaaaaaa");
      text.store("bbbbbbbbbbbbbbbbbb");
    }
  });
  for (int i = 0; i < 2000; ++i) {
    // A mixture is allowed: the writer may lose its core while it writes, and no reader waits.
    const std::string read = text.load();
    EXPECT_TRUE(read.size() == 28 || read.size() == 18) << read;
    EXPECT_EQ(read.find_first_not_of("ab"), std::string::npos) << read;
  }
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace lockstep
