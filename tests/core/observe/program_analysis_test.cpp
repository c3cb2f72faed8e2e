// The output of debug level 1 about programs and executions, line by line.
#include "core/observe/program_analysis.h"

#include "core/base/log.h"
#include "core/trace/mode.h"
#include "tests/core/engine/rank.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

struct ProgramAnalysis : testing::Test {
  /// The lines of the latest block, without their prefix.
  std::vector<std::string> block(const std::string& prefix) const {
    std::vector<std::string> out;
    const std::string begin = "debug: " + prefix + ": ";
    for (const std::string& line : debug.lines_with(begin)) {
      const std::string text = line.substr(begin.size());
      if (!text.starts_with(" ")) out.clear();
      out.push_back(text.starts_with("  ") ? text.substr(2) : text);
    }
    return out;
  }

  DebugLog debug;
  Rank rank{{}, *debug.log};
};

/// p[2,2] <- p * lr + sum over micro-batches of x, and what is kept of it beside.
struct Step {
  explicit Step(Rank& rank)
      : p(rank.engine.to_device({HostTensor::of(Shape{2, 2}, std::vector<float>{1, 2, 3, 4})},
                                InputKind::kParameter, "p")),
        x(rank.engine.to_device({HostTensor::of(Shape{2, 2}, std::vector<float>{1, 0, 0, 1})},
                                InputKind::kBatch, "batch.x")) {}
  Tensor p, x;
};

TEST_F(ProgramAnalysis, TellsCauseGraphInputsOutputsAndDonation) {
  Step step(rank);
  step.p.assign(step.p * rank.context.scalar(0.5, DType::kF32, "lr") + all_reduce(exp(step.x)));
  const Tensor norm = sum(step.p);
  const int line = __LINE__ + 1;
  rank.engine.mark_step(SyncReason::kStepEnd);
  EXPECT_THAT(block("Compilation Analysis"),
              ElementsAre(MatchesRegex("program-0-step_end-[0-9a-f]{8}, structure [0-9a-f]{32}"),
                          "Cause: first_compile",
                          fmt::format("Cut by: step end on program_analysis_test.cpp:{}, after the "
                                      "start",
                                      line),
                          MatchesRegex("Recorded in: program_analysis_test.cpp \\([0-9]+ nodes\\)"),
                          MatchesRegex("Graph: ([0-9]+) nodes \\(of [0-9]+ recorded\\)"),
                          "Inputs: 3: 1 parameter 16.00B, 1 batch 16.00B a micro-batch, 1 scalar "
                          "4.00B",
                          "Outputs: 2: 1 next values of inputs 16.00B, 1 others 4.00B",
                          "Donated: 1 inputs 16.00B",
                          "Not donated, as no output is their next value: 1 batch 16.00B a "
                          "micro-batch",
                          "Not donated, as they are numbers of the host: 1"));
}

TEST_F(ProgramAnalysis, TellsWhyAProgramIsNeededAgain) {
  Tensor p = rank.variable({1, 2});
  for (const double factor : {2.0, 3.0}) {
    p.assign(p * factor);
    rank.engine.mark_step();
  }
  EXPECT_THAT(block("Compilation Analysis"),
              AllOf(Contains(StartsWith("program-1-mark_step-")),
                    Contains(HasSubstr("Cause: constant: constant f32[]")),
                    Contains(HasSubstr(", after mark_step on program_analysis"))));
}

TEST_F(ProgramAnalysis, TellsTheCauseOfAReadsProgramWhenTheNextGraphShowsIt) {
  Tensor p = rank.variable({1, 2});
  int line = 0;
  for (const bool reads : {false, true}) {
    const Tensor norm = sum(p * p);
    line = __LINE__ + 1;
    if (reads) (void)norm.item();
    p.assign(p * sqrt(norm));
    rank.engine.mark_step();
  }
  EXPECT_THAT(
      debug.lines_with("Compilation Analysis:   Cause"),
      ElementsAre(HasSubstr("Cause: first_compile"),
                  HasSubstr("Cause: follows with the next graph, as a read cut this one"),
                  MatchesRegex(fmt::format(
                      "Compilation Analysis:   Cause of program-1-value_read-[0-9a-f]{{8}}: "
                      "value_read: the read at program_analysis_test.cpp:{} cut the step; "
                      "this is what came before it",
                      line)),
                  HasSubstr("Cause: value_read: the read at")));
}

TEST_F(ProgramAnalysis, TellsThatAReadsProgramIsTheFirstOnceTheNextGraphIsKnown) {
  Tensor p = rank.variable({1, 2});
  (void)sum(p * p).item();
  (void)rank.engine.compilations();
  EXPECT_THAT(debug.lines_with("Compilation Analysis:   Cause"),
              ElementsAre(HasSubstr("Cause: follows with the next graph"),
                          MatchesRegex(".*Cause of program-0-value_read-[0-9a-f]{8}: "
                                       "first_compile")));
}

TEST_F(ProgramAnalysis, TellsWhatBecameOfIt) {
  Step step(rank);
  step.p.assign(step.p - all_reduce(matmul(step.x, step.x)));
  rank.engine.mark_step();
  const std::vector<std::string> lines = block("Post Compilation Analysis");
  ASSERT_THAT(lines, Not(IsEmpty()));
  EXPECT_THAT(lines[0], MatchesRegex("program-0-mark_step-[0-9a-f]{8}, compiled in 0 s"));
  EXPECT_THAT(lines, Contains(MatchesRegex("Gradient program: 1 bundles of 1 commands, arena "
                                           "0.00B, peak 16.00B, constants 0.00B, 1.6e-08 GFLOP, "
                                           "48.00B read and written")));
  EXPECT_THAT(lines, Contains("  by class, in bundles: dot 1: 1.6e-08 GFLOP, 48.00B"));
  EXPECT_THAT(lines, Contains(HasSubstr("  by class, in bundles: optimizer 1: ")));
  EXPECT_THAT(lines, Contains("Summed over micro-batches and ranks: 1 values 16.00B in 1 buckets"));
  EXPECT_THAT(lines, Contains(MatchesRegex("Largest at the peak of the gradient program: 16.00B "
                                           "f32\\[2,2\\] program_analysis_test.cpp:[0-9]+")));
  EXPECT_THAT(lines, Contains(MatchesRegex("Kernels: .* of machine code in 1 objects")));
  EXPECT_LE(lines.size(), 15);
}

TEST_F(ProgramAnalysis, TellsOfEachExecutionInOneLine) {
  Tensor p = rank.variable({1, 2});
  int line = 0;
  for (int i = 0; i < 3; ++i) {
    p.assign(p * 2.0);
    rank.engine.set_step(i);
    line = __LINE__ + 1;
    rank.engine.mark_step();
  }
  rank.engine.mark_step();  // of nothing
  const auto lines = debug.lines_with("Execution Analysis: ");
  ASSERT_EQ(lines.size(), 3);
  EXPECT_THAT(lines[2],
              MatchesRegex(fmt::format(
                  "Execution Analysis: step 2: mark_step on program_analysis_test.cpp:{}, "
                  "program-0-mark_step-[0-9a-f]{{8}}, 4 nodes, 1 inputs 8.00B, 1 "
                  "outputs 8.00B \\(of a micro-batch\\)",
                  line)));
  EXPECT_EQ(debug.lines_with("debug: Compilation Analysis: program").size(), 1);
}

TEST_F(ProgramAnalysis, NamesAnOldValueThatIsCopiedAsSomebodyHoldsIt) {
  Tensor p = rank.variable({1, 2}, "wte.weight");
  const Tensor q = rank.context.tensor(p.state().value, InputKind::kState, "held");
  rank.engine.set_step(4);
  p.assign(p * 2.0);
  rank.engine.mark_step();
  rank.engine.wait();
  EXPECT_THAT(debug.lines_with("Execution Analysis: step 4: wte"),
              ElementsAre("Execution Analysis: step 4: wte.weight f32[2] is copied, not donated: a "
                          "handle or a snapshot still holds the old value"));
  p.assign(p * 2.0);
  rank.engine.mark_step();
  rank.engine.wait();
  EXPECT_EQ(debug.lines_with("is copied, not donated").size(), 1);
}

TEST(ProgramAnalysisOff, SaysNothingBelowLevelOne) {
  const DebugLog debug;
  Log log({.console = false, .file = debug.path.string(), .debug = 0});
  Rank rank({}, log);
  Tensor p = rank.variable({1, 2});
  const Tensor held = rank.context.tensor(p.state().value, InputKind::kState, "held");
  p.assign(p * 2.0);
  rank.engine.mark_step();
  rank.engine.wait();
  EXPECT_EQ(rank.metrics.counter("DonationCopy"), 1);
  EXPECT_THAT(debug.lines_with(""), IsEmpty());
}

TEST(ProgramName, IsOneWordOfNumberCauseAndHash) {
  const Hash128 hash{1, 0xabcdef0123456789};
  EXPECT_EQ(program_name(3, "step end", hash), "program-3-step_end-" + hash.hex().substr(0, 8));
  EXPECT_EQ(program_name(-1, "dry run", hash), "plan-dry_run-" + hash.hex().substr(0, 8));
}

}  // namespace
}  // namespace lockstep
