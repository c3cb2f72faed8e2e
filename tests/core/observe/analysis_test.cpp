// Advice at debug level 1, word for word.
#include "core/observe/analysis.h"

#include "core/explain/cause.h"
#include "core/trace/context.h"
#include "core/trace/host_call.h"
#include "tests/core/engine/rank.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

struct AnalysisTest : testing::Test {
  std::vector<std::string> advice() const { return debug.lines_with("lockstep-profiler"); }

  DebugLog debug;
  Rank rank{{}, *debug.log};
};

TEST_F(AnalysisTest, IsQuietAboutASteadyLoop) {
  Tensor p = rank.variable({1, 2});
  std::vector<Tensor> losses;
  for (int step = 0; step < 40; ++step) {
    losses.push_back(sum(p * rank.context.scalar(step, DType::kF32, "x")));
    p.assign(p * 0.5);
    rank.engine.mark_step();
  }
  for (const Tensor& loss : losses) (void)loss.item();
  losses.clear();
  rank.engine.mark_step();
  EXPECT_THAT(advice(), IsEmpty());
}

TEST_F(AnalysisTest, CountsCompilationsOfAConstantThatChangesAndNamesIt) {
  Tensor p = rank.variable({1, 2});
  const int line = __LINE__ + 2;
  for (int step = 0; step < 12; ++step) {
    p.assign(p * (step == 11 ? 1.0 : 1.0 + step));
    rank.engine.mark_step();
  }
  EXPECT_THAT(advice(),
              ElementsAre(fmt::format(
                  "lockstep-profiler: CompileTime too frequent: 11 counts during 12 steps; "
                  "constant: constant f32[] analysis_test.cpp:{} had 11 values (1, 2, 3, 4, ..., "
                  "8, 9, 10, 11); {}",
                  line, remedy_of(Cause::kConstant))));
}

TEST_F(AnalysisTest, NamesAllNumbersThatChangeInMostSteps) {
  Tensor p = rank.variable({1, 2});
  const int line = __LINE__ + 2;
  for (int step = 0; step < 12; ++step) {
    const Tensor moved = p * (2.0 + step) + (0.25 + step);
    p.assign(moved * (step < 6 ? 0.5 : 0.75));
    rank.engine.mark_step();
  }
  ASSERT_THAT(advice(), Not(IsEmpty()));
  EXPECT_THAT(
      advice().back(),
      AllOf(HasSubstr(fmt::format("constant f32[] analysis_test.cpp:{} had 11 values (2, 3, "
                                  "4, 5, ..., 9, 10, 11, 12) and another had 11 values "
                                  "(0.25, 1.25, ",
                                  line)),
            HasSubstr(fmt::format("; also constant f32[] analysis_test.cpp:{}: 0.5 -> 0.75; ",
                                  line + 1))));
}

TEST_F(AnalysisTest, IsQuietAboutCompilationsInLessThanHalfOfTheSteps) {
  Tensor p = rank.variable({1, 2});
  for (int step = 0; step < 12; ++step) {
    p.assign(p * (1.0 + std::max(0, step - 7)));
    rank.engine.mark_step();
  }
  EXPECT_EQ(rank.metrics.counter("UncachedCompile"), 5);
  EXPECT_THAT(advice(), IsEmpty());
}

TEST_F(AnalysisTest, CountsReadsThatLeaveTheDeviceWithoutWork) {
  Tensor p = rank.variable({1, 2});
  for (int step = 0; step < 25; ++step) {
    p.assign(p * 0.5);
    const Tensor loss = sum(p);
    rank.engine.mark_step();
    (void)loss.item();
  }
  EXPECT_THAT(
      advice(),
      ElementsAre("lockstep-profiler: TransferFromDevice too frequent: 11 counts during 12 steps",
                  "lockstep-profiler: TransferFromDevice too frequent: 12 counts during 12 steps"));
}

TEST_F(AnalysisTest, NamesAnOutputThatOnlyAScopeHolds) {
  Tensor p = rank.variable({1, 2});
  int line = 0;
  for (int step = 3; step < 6; ++step) {
    rank.engine.set_step(step);
    const ModuleScope scope(rank.context, "lm_head");
    line = __LINE__ + 1;
    const Tensor logits = p * 2.0;
    const Tensor loss = sum(logits);
    rank.engine.mark_step();
    (void)loss.item();
  }
  EXPECT_THAT(advice(),
              ElementsAre(fmt::format("lockstep-profiler: f32[2] analysis_test.cpp:{} (lm_head) is "
                                      "an output of step 3 only because a scope still held it: it "
                                      "was neither read nor used",
                                      line)));
}

TEST_F(AnalysisTest, NamesAnOutputOnlyOnceItIsDropped) {
  const Tensor p = rank.variable({1, 2});
  Tensor kept = p * 3.0;
  for (int step = 0; step < 20; ++step) rank.engine.mark_step();
  EXPECT_THAT(advice(), IsEmpty());
  kept = Tensor();
  rank.engine.mark_step();
  EXPECT_THAT(advice(), SizeIs(1));
}

TEST_F(AnalysisTest, NamesNoMoreOutputsThanItSays) {
  const Tensor p = rank.variable({1, 2});
  for (std::size_t i = 0; i < 2 * Analysis::kMaxNamed; ++i) {
    const ModuleScope scope(rank.context, fmt::format("layer_{}", i));
    const Tensor unused = p * 2.0;
    rank.engine.mark_step();
  }
  rank.engine.mark_step();
  ASSERT_THAT(advice(), SizeIs(Analysis::kMaxNamed + 1));
  EXPECT_EQ(advice().back(),
            "lockstep-profiler: these were 256 such outputs; no further ones are named");
}

TEST_F(AnalysisTest, IsQuietAboutAnOutputThatALaterStepUses) {
  const Tensor p = rank.variable({1, 2});
  Tensor sums = p * 0.0;
  for (int step = 0; step < 20; ++step) {
    sums = sums + p;
    rank.engine.mark_step();
  }
  EXPECT_THAT(advice(), IsEmpty());
}

TEST(Analysis, NamesAnExecutionMuchSlowerThanTheMedian) {
  const DebugLog debug;
  ManualClock clock;
  Metrics metrics(clock);
  SpanStream spans(clock, metrics);
  const CauseTally causes;
  const Cuts cuts;
  Analysis analysis(spans, causes, cuts, *debug.log);
  for (int step = 0; step < 24; ++step) {
    metrics.sample("ExecuteTime", step == 20 ? 2e9 : 1e8 + step);
    analysis.end_step();
  }
  EXPECT_THAT(debug.lines_with("lockstep-profiler"),
              ElementsAre("lockstep-profiler: ExecuteTime too slow: 2s000ms000.000us is 20.0 times "
                          "the median of 24 samples"));
}

TEST(Analysis, NamesACompilationOfMoreThanAMinute) {
  const DebugLog debug;
  ManualClock clock;
  Metrics metrics(clock);
  SpanStream spans(clock, metrics);
  const CauseTally causes;
  const Cuts cuts;
  Analysis analysis(spans, causes, cuts, *debug.log);
  metrics.sample("CompileTime", 75e9);
  for (int step = 0; step < 24; ++step) analysis.end_step();
  EXPECT_THAT(
      debug.lines_with("lockstep-profiler"),
      ElementsAre("lockstep-profiler: CompileTime too slow: 1m15s000ms000.000us for one graph"));
}

TEST(Analysis, LooksAtNothingBelowDebugLevelOne) {
  ManualClock clock;
  Metrics metrics(clock);
  SpanStream spans(clock, metrics);
  EXPECT_FALSE(Analysis(spans, CauseTally(), Cuts(), Log::null()).enabled());
  EXPECT_FALSE(spans.is_heard(SpanKind::kHostCall));
}

TEST_F(AnalysisTest, NamesTheHostCallThatIsInTheWay) {
  const auto busy = [&](const char* name, std::int64_t ms) {
    return HostFunction(name, 1,
                        [this, ms](std::span<const HostTensor> in, std::span<HostTensor> out) {
                          rank.clock.advance_ns(ms * 1'000'000);
                          out[0] = in[0];
                        });
  };
  const HostFunction match = busy("match_boxes", 15);
  const HostFunction suppress = busy("suppress", 5);
  Tensor p = rank.variable({1, 2});
  int line = 0;
  for (int step = 0; step < 12; ++step) {
    rank.device.synchronize();
    line = __LINE__ + 1;
    p.assign(host_call(match, {p}, p.type()) + host_call(suppress, {p}, p.type()));
    rank.engine.mark_step();
  }
  EXPECT_THAT(advice(),
              ElementsAre(fmt::format(
                  "lockstep-profiler: HostCallTime too slow: match_boxes analysis_test.cpp:{} took "
                  "75 % of ExecuteTime, 11 calls of 015ms000.000us",
                  line)));
}

}  // namespace
}  // namespace lockstep
