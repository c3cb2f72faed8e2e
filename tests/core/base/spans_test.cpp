#include "core/base/spans.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

namespace lockstep {
namespace {

TEST(Clock, SteadyNeverGoesBack) {
  const SteadyClock clock;
  std::int64_t last = clock.now_ns();
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t now = clock.now_ns();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(Clock, ManualMovesWhenTold) {
  ManualClock clock;
  EXPECT_EQ(clock.now_ns(), 0);
  clock.advance_ns(5);
  clock.advance_ns(7);
  EXPECT_EQ(clock.now_ns(), 12);
}

struct Heard final : SpanListener {
  void on_span(const Span& span) override {
    spans.push_back(span);
    names.emplace_back(span.name);
  }
  void on_level(const Level& level) override { levels.push_back(level); }
  std::vector<Span> spans;
  std::vector<std::string> names;
  std::vector<Level> levels;
};

/// Counts the looks at it.
class CountingClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return ++looks; }
  mutable std::int64_t looks = 0;
};

struct Recorded : testing::Test {
  ManualClock clock;
  Metrics metrics{clock};
  SpanStream stream{clock, metrics};
  Heard heard;
};

TEST_F(Recorded, AScopeFeedsMetricAndListeners) {
  stream.listen(heard, {SpanKind::kCompile});
  clock.advance_ns(100);
  {
    ScopedSpan span(stream, {.kind = SpanKind::kCompile, .step = 7, .correlation = 42});
    span.args() = {1, 2};
    clock.advance_ns(30);
  }
  EXPECT_EQ(metrics.metric("CompileTime").samples, 1);
  EXPECT_EQ(metrics.total("CompileTime"), 30);
  ASSERT_EQ(heard.spans.size(), 1U);
  EXPECT_EQ(heard.spans[0].kind, SpanKind::kCompile);
  EXPECT_EQ(heard.spans[0].begin_ns, 100);
  EXPECT_EQ(heard.spans[0].end_ns, 130);
  EXPECT_EQ(heard.spans[0].step, 7);
  EXPECT_EQ(heard.spans[0].correlation, 42U);
  EXPECT_EQ(heard.spans[0].args, (SpanArgs{1, 2}));
}

TEST_F(Recorded, AScopeLeftByAnExceptionIsRecordedToo) {
  try {
    const ScopedSpan span(stream, SpanKind::kExecute);
    clock.advance_ns(3);
    throw 1;
  } catch (int) {
  }
  EXPECT_EQ(metrics.total("ExecuteTime"), 3);
}

TEST_F(Recorded, SpansTellTheirThread) {
  stream.listen(heard, SpanKinds::all());
  stream.record({.kind = SpanKind::kTrace});
  stream.record({.kind = SpanKind::kTrace});
  std::thread([this] { stream.record({.kind = SpanKind::kTrace}); }).join();
  EXPECT_EQ(heard.spans[0].thread, heard.spans[1].thread);
  EXPECT_NE(heard.spans[0].thread, heard.spans[2].thread);
}

TEST_F(Recorded, ListenersHearWhatTheyAskForAsLongAsTheyDo) {
  Heard other;
  stream.listen(heard, {SpanKind::kCommand});
  stream.listen(other, {SpanKind::kCommand, SpanKind::kPass}, true);
  stream.record({.kind = SpanKind::kCommand});
  stream.record({.kind = SpanKind::kPass, .name = "fuse"});
  stream.level(LevelKind::kQueueDepth, 2);
  EXPECT_EQ(heard.spans.size(), 1U);
  EXPECT_EQ(heard.levels.size(), 0U);
  EXPECT_EQ(other.names, (std::vector<std::string>{"", "fuse"}));
  ASSERT_EQ(other.levels.size(), 1U);
  EXPECT_EQ(other.levels[0].value, 2);
  stream.listen(heard, {});
  stream.listen(other, {SpanKind::kPass});
  stream.record({.kind = SpanKind::kCommand});
  stream.level(LevelKind::kQueueDepth, 1);
  EXPECT_EQ(heard.spans.size(), 1U);
  EXPECT_EQ(other.spans.size(), 2U);
  EXPECT_EQ(other.levels.size(), 1U);
  EXPECT_FALSE(stream.wants(SpanKind::kCommand));
  EXPECT_TRUE(stream.is_heard(SpanKind::kPass));
}

TEST(SpanStream, LooksAtNoClockForWhatNobodyWants) {
  CountingClock clock;
  Metrics metrics(clock);
  SpanStream stream(clock, metrics);
  {
    const ScopedSpan span(stream, SpanKind::kCommand);
    stream.level(LevelKind::kDeviceMemory, 1);
  }
  EXPECT_EQ(clock.looks, 0);
  { const ScopedSpan span(stream, SpanKind::kTrace); }
  EXPECT_GT(clock.looks, 0);
}

TEST(SpanKinds, HaveNamesAndMetricsOfTheirOwn) {
  std::set<std::string> names;
  std::set<std::string> metrics;
  std::size_t with_metric = 0;
  for (std::size_t i = 0; i < kSpanKindCount; ++i) {
    const SpanFacts& facts = facts_of(static_cast<SpanKind>(i));
    ASSERT_NE(facts.name, nullptr) << i;
    names.insert(facts.name);
    if (facts.metric == nullptr) continue;
    metrics.insert(facts.metric);
    ++with_metric;
  }
  EXPECT_EQ(metrics.size(), with_metric);
  EXPECT_STREQ(facts_of(SpanKind::kDeviceLockWait).metric, "DeviceLockWait");
  EXPECT_STREQ(facts_of(SpanKind::kAllReduce).metric, "AllReduceTime");
  // The pause for an evaluation and the evaluation are one word for two threads.
  EXPECT_EQ(names.size(), kSpanKindCount - 1);
}

}  // namespace
}  // namespace lockstep
