#include "core/base/spans.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

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

struct Recorded : testing::Test {
  ManualClock clock;
  Metrics metrics{clock};
  SpanStream stream{clock, metrics};
  std::vector<Span> spans;
};

TEST_F(Recorded, AScopeFeedsMetricAndListeners) {
  stream.add_listener([this](const Span& span) { spans.push_back(span); });
  clock.advance_ns(100);
  {
    const ScopedSpan span(stream, SpanCategory::kCompile, 7, 42);
    clock.advance_ns(30);
  }
  EXPECT_EQ(metrics.metric("CompileTime").samples, 1);
  EXPECT_EQ(metrics.metric("CompileTime").accumulator, 30);
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].category, SpanCategory::kCompile);
  EXPECT_EQ(spans[0].begin_ns, 100);
  EXPECT_EQ(spans[0].end_ns, 130);
  EXPECT_EQ(spans[0].step, 7);
  EXPECT_EQ(spans[0].correlation, 42U);
}

TEST_F(Recorded, AScopeLeftByAnExceptionIsRecordedToo) {
  try {
    const ScopedSpan span(stream, SpanCategory::kExecute);
    clock.advance_ns(3);
    throw 1;
  } catch (int) {
  }
  EXPECT_EQ(metrics.metric("ExecuteTime").accumulator, 3);
}

TEST_F(Recorded, SpansTellTheirThread) {
  stream.add_listener([this](const Span& span) { spans.push_back(span); });
  stream.record(SpanCategory::kTrace, 0, 1);
  stream.record(SpanCategory::kTrace, 1, 2);
  std::thread([this] { stream.record(SpanCategory::kTrace, 2, 3); }).join();
  EXPECT_EQ(spans[0].thread, spans[1].thread);
  EXPECT_NE(spans[0].thread, spans[2].thread);
}

TEST(MetricName, IsDifferentForEveryCategory) {
  std::set<std::string> names;
  const int count = static_cast<int>(SpanCategory::kCheckpoint) + 1;
  for (int i = 0; i < count; ++i) names.insert(metric_name(static_cast<SpanCategory>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(count));
  EXPECT_STREQ(metric_name(SpanCategory::kDeviceLockWait), "DeviceLockWait");
  EXPECT_STREQ(metric_name(SpanCategory::kAllReduce), "AllReduceTime");
}

}  // namespace
}  // namespace lockstep
