#include "core/observe/ledger.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <thread>

#include "core/base/log.h"
#include "core/engine/compile.h"
#include "core/observe/program_table.h"
#include "core/runtime/device.h"
#include "core/trace/context.h"
#include "core/trace/host_call.h"
#include "tests/core/engine/rank.h"
#include "tests/fixtures/host_functions.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::DoubleNear;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// One microsecond passes with every look that one thread takes at it: what that thread measures
/// is certain, whatever the others do meanwhile.
class TickingClock final : public Clock {
 public:
  std::int64_t now_ns() const override {
    if (std::this_thread::get_id() != ticking_) return now_;
    ++looks_;
    return now_ += 1000;
  }
  void advance(std::int64_t ns) { now_ += ns; }
  void tick_in_this_thread() { ticking_ = std::this_thread::get_id(); }
  int looks() const { return looks_; }

 private:
  std::atomic<std::thread::id> ticking_{};
  mutable std::atomic<int> looks_{0};
  mutable std::atomic<std::int64_t> now_{1};
};

/// What the machine is said to need for any bundle.
BundleSeconds two_seconds() {
  return [](const Plan&, std::size_t) { return 2.0; };
}

struct MeasuredRank {
  explicit MeasuredRank(std::size_t programs = 256) : max_programs(programs) {
    spans.listen(ledger, Ledger::kKinds);
    device.enqueue([this] { clock.tick_in_this_thread(); });
  }
  ~MeasuredRank() { spans.listen(ledger, {}); }

  /// p - the sum over two micro-batches of p * x.
  void record() {
    const Tensor x = engine.to_device({Rank::vector_of({1, 2}), Rank::vector_of({3, 4})},
                                      InputKind::kBatch, "batch.x");
    p.assign(p - all_reduce(p * x));
  }
  void step() {
    record();
    engine.mark_step(SyncReason::kStepEnd);
  }

  CompileOptions options() const {
    CompileOptions out = Rank::compile_options();
    out.max_programs = max_programs;
    return out;
  }

  std::size_t max_programs;
  TickingClock clock;
  Metrics metrics{clock};
  SpanStream spans{clock, metrics};
  std::unique_ptr<Communicator> communicator = make_single_communicator();
  Device device{{}, spans};
  TraceContext context;
  Engine engine{options(), context, device, *communicator, Log::null()};
  Ledger ledger{engine.programs(), two_seconds(), max_programs};
  Tensor p = engine.to_device({Rank::vector_of({1, 1})}, InputKind::kParameter, "p");
};

double sum_of(const std::vector<LedgerRow>& rows) {
  return std::accumulate(rows.begin(), rows.end(), 0.0,
                         [](double sum, const LedgerRow& row) { return sum + row.ms; });
}

/// Of that class, or part of a step; an empty row if there is none.
LedgerRow find(const std::vector<LedgerRow>& rows, std::string_view program,
               std::string_view work) {
  for (const LedgerRow& row : group_rows(rows, GroupBy::kClass))
    if (row.program == program && row.work == work) return row;
  return {};
}

std::vector<LedgerRow> bundles(const Ledger& ledger) {
  std::vector<LedgerRow> out = ledger.rows();
  std::erase_if(out, [](const LedgerRow& row) { return !row.is_bundle(); });
  return out;
}

TEST(Ledger, SumsToTheWallTimeOfTheSteps) {
  MeasuredRank rank;
  for (int i = 0; i < 6; ++i) rank.step();
  rank.engine.wait();
  const std::vector<LedgerRow> rows = rank.ledger.rows();
  const std::vector<double> steps = rank.ledger.last_steps().step_ms();
  EXPECT_THAT(steps, SizeIs(5));
  EXPECT_THAT(rows, Each(Field(&LedgerRow::ms, testing::Ge(0))));
  const double mean = std::accumulate(steps.begin(), steps.end(), 0.0) / 5;
  EXPECT_THAT(rank.ledger.mean_step_ms(), DoubleNear(mean, 1e-9));
  EXPECT_THAT(sum_of(rows), DoubleNear(mean, 1e-9));
}

TEST(Ledger, AsksForTheWaitForACoreAtTheEndOfEachStep) {
  MeasuredRank rank;
  int calls = 0;
  Ledger ledger(rank.engine.programs(), two_seconds(), 256, {},
                [&] { return 1'000'000 * ++calls; });
  rank.spans.listen(ledger, Ledger::kKinds);
  for (int i = 0; i < 3; ++i) rank.step();
  rank.p.to_host();  // an execution that is no step
  rank.engine.wait();
  rank.spans.listen(ledger, {});
  EXPECT_EQ(calls, 3);
  EXPECT_DOUBLE_EQ(ledger.last_steps().mean_core_wait_ms(), 2.5) << "without the first step";
  EXPECT_TRUE(ledger.knows_core_wait());
  EXPECT_FALSE(rank.ledger.knows_core_wait());
}

TEST(Ledger, CountsEveryMicroBatchesCommandsAndTheOneUpdate) {
  MeasuredRank rank;
  for (int i = 0; i < 3; ++i) rank.step();
  rank.engine.wait();
  const std::vector<LedgerRow> rows = rank.ledger.rows();
  const auto gradient = find(rows, "gradient", "fused");
  const auto update = find(rows, "update", "optimizer");
  EXPECT_EQ(gradient.commands, 2);
  EXPECT_EQ(update.commands, 1);
  // Two looks at the clock around each command, one tick apart.
  EXPECT_GE(gradient.ms, 2 * 0.001);
  EXPECT_EQ(gradient.flops, 2 * 2);          // two micro-batches, two products each
  EXPECT_EQ(gradient.bytes, 2 * 3 * 2 * 4);  // two micro-batches, three vectors of two floats each
  EXPECT_EQ(find(rows, "step", "all-reduce").work, "all-reduce");
  EXPECT_EQ(find(rows, "step", "gradient sums").work, "gradient sums");
  EXPECT_EQ(find(rows, "step", "idle").work, "idle");
}

TEST(Ledger, HasARowOfItsOwnForHostCallsAndNamesFunctionAndLine) {
  MeasuredRank rank;
  int line = 0;
  for (int i = 0; i < 3; ++i) {
    const Tensor x = rank.engine.to_device({Rank::vector_of({1, 2}), Rank::vector_of({3, 4})},
                                           InputKind::kBatch, "batch.x");
    const ModuleScope scope(rank.context, "head");
    line = __LINE__ + 1;
    const Tensor turned = host_call(reverse_function(), {x}, Type{DType::kF32, Shape{2}});
    rank.p.assign(rank.p - all_reduce(turned));
    rank.engine.mark_step(SyncReason::kStepEnd);
  }
  rank.engine.wait();
  const std::vector<LedgerRow> rows = rank.ledger.rows();
  EXPECT_THAT(sum_of(rows), DoubleNear(rank.ledger.mean_step_ms(), 1e-9));
  const auto row = find(rows, "gradient", "host call");
  EXPECT_EQ(row.commands, 2);
  EXPECT_EQ(row.bytes, 2 * 2 * 2 * 4);  // two micro-batches, two floats in and out
  EXPECT_GT(row.ms, 0);
  EXPECT_EQ(row.op, "host_call reverse f32[2] (f32[2])");
  EXPECT_EQ(row.line, fmt::format("ledger_test.cpp:{}", line));
  EXPECT_EQ(row.module, "head");
}

TEST(Ledger, GivesTheMinimumOfEachPartBesideTheMean) {
  const auto program = std::make_shared<CompiledStep>();
  const ProgramTable programs;
  Ledger ledger(programs, two_seconds());
  LedgerPage page;
  ledger.add(program, page);  // left out
  page[StepPart::kGradientSums] = 5'000'000;
  page[StepPart::kAllReduce] = 2'000'000;
  ledger.add(program, page);
  page[StepPart::kGradientSums] = 3'000'000;
  page[StepPart::kAllReduce] = 4'000'000;
  ledger.add(program, page);
  const std::vector<LedgerRow> rows = ledger.rows();
  EXPECT_DOUBLE_EQ(find(rows, "step", "gradient sums").ms, 4);
  EXPECT_DOUBLE_EQ(find(rows, "step", "gradient sums").min_ms, 3);
  EXPECT_DOUBLE_EQ(find(rows, "step", "all-reduce").min_ms, 2);
}

/// Also of programs that it forgot.
TEST(Ledger, HasVirtualTimesOfEachProgram) {
  const auto modelled = [](const CompiledStep& step) {
    return ProgramCosts{.gradient = {step.gradient.commands.size(), BundleCost{1e-3, 5e-4}},
                        .update = {step.update.commands.size(), BundleCost{2e-3, 1e-3}},
                        .dispatch = 3e-3,
                        .sums = 4e-3,
                        .waits = 5e-3};
  };
  MeasuredRank rank;
  rank.record();
  const std::shared_ptr<const CompiledStep> program = rank.engine.compile_pending();
  const ProgramTable programs;
  for (const bool forgotten : {false, true}) {
    Ledger ledger(programs, two_seconds(), 1, modelled);
    LedgerPage page;
    page.micro_batches = 3;
    page.gradient_ns.assign(program->gradient.commands.size(), 1'000'000);
    page.update_ns.assign(program->update.commands.size(), 1'000'000);
    for (int i = 0; i < 3; ++i) ledger.add(program, page);
    if (forgotten) ledger.add(std::make_shared<const CompiledStep>(), {});
    const std::vector<LedgerRow> rows = ledger.rows();
    for (const LedgerRow& row : rows)
      if (row.is_bundle()) {
        EXPECT_DOUBLE_EQ(row.virtual_ms, row.program == "gradient" ? 3 : 2) << row.op;
        EXPECT_DOUBLE_EQ(row.virtual_lower_bound_ms, row.virtual_ms / 2) << row.op;
      }
    EXPECT_DOUBLE_EQ(find(rows, "step", "dispatch").virtual_ms, 9);
    EXPECT_DOUBLE_EQ(find(rows, "step", "gradient sums").virtual_ms, 8);
    EXPECT_DOUBLE_EQ(find(rows, "step", "other").virtual_ms, 5);
    EXPECT_EQ(rows.back().work, "other");
  }
}

TEST(Ledger, KeepsFewProgramsAndTheTimesOfAll) {
  const ProgramTable programs;
  Ledger ledger(programs, two_seconds(), 2);
  std::vector<std::weak_ptr<const CompiledStep>> made;
  LedgerPage page;
  page[StepPart::kGradientSums] = 5'000'000;
  page[StepPart::kIdle] = 1'000'000;
  page.wall_ns = 8'000'000;
  for (int i = 0; i < 10; ++i) {
    const auto program = std::make_shared<const CompiledStep>();
    made.push_back(program);
    ledger.add(program, page);  // left out
    page[StepPart::kGradientSums] -= 100'000;
    ledger.add(program, page);
  }
  const auto kept = std::ranges::count_if(made, [](const auto& p) { return !p.expired(); });
  EXPECT_EQ(kept, 2);
  const std::vector<LedgerRow> rows = ledger.rows();
  EXPECT_THAT(ledger.last_steps().step_ms(), SizeIs(10));
  EXPECT_DOUBLE_EQ(find(rows, "step", "gradient sums").ms, 4.45);
  EXPECT_DOUBLE_EQ(find(rows, "step", "gradient sums").min_ms, 4.45);
  EXPECT_DOUBLE_EQ(find(rows, "step", "idle").ms, 1);
  EXPECT_THAT(sum_of(rows), DoubleNear(8, 1e-9));
}

TEST(Ledger, KnowsTheCommandsOfProgramsThatItForgot) {
  const auto told = [](std::size_t programs) {
    MeasuredRank rank(programs);
    for (int i = 0; i < 3; ++i) rank.step();
    for (int i = 0; i < 3; ++i) {
      rank.p.assign(rank.p + rank.p);
      rank.engine.mark_step(SyncReason::kStepEnd);
    }
    rank.engine.wait();
    std::multiset<std::string> out;
    for (const LedgerRow& row : bundles(rank.ledger))
      out.insert(
          fmt::format("{} {} {} {} {}", row.program, row.op, row.line, row.commands, row.flops));
    return out;
  };
  EXPECT_THAT(told(256), SizeIs(3));
  EXPECT_EQ(told(1), told(256));
}

TEST(Ledger, SumsTheMinimaOfCommands) {
  MeasuredRank rank;
  rank.record();
  const std::shared_ptr<const CompiledStep> program = rank.engine.compile_pending();
  const ProgramTable programs;
  Ledger ledger(programs, two_seconds());
  LedgerPage page;
  const auto add = [&](std::int64_t gradient_ns, std::int64_t update_ns) {
    page.gradient_ns.assign(program->gradient.commands.size(), gradient_ns);
    page.update_ns.assign(program->update.commands.size(), update_ns);
    ledger.add(program, page);
  };
  add(1'000'000, 1'000'000);  // left out
  add(5'000'000, 2'000'000);
  add(3'000'000, 6'000'000);
  const std::vector<LedgerRow> rows = bundles(ledger);
  EXPECT_THAT(rows, SizeIs(2));
  for (const LedgerRow& row : rows) {
    EXPECT_DOUBLE_EQ(row.ms, 4) << row.op;
    EXPECT_DOUBLE_EQ(row.min_ms, row.program == "gradient" ? 3 : 2) << row.op;
  }
}

TEST(Ledger, CountsCommandsThatRunAtOnceAsOneWithTheWorkOfAll) {
  MeasuredRank rank;
  Tensor q = rank.engine.to_device({Rank::vector_of({1, 1, 1})}, InputKind::kParameter, "q");
  for (int i = 0; i < 3; ++i) {
    rank.p.assign(rank.p + rank.p);
    q.assign(q + q);
    rank.engine.mark_step(SyncReason::kStepEnd);
  }
  rank.engine.wait();
  const std::vector<LedgerRow> rows = rank.ledger.rows();
  const auto update = find(rows, "update", "optimizer");
  EXPECT_EQ(update.commands, 1);
  EXPECT_DOUBLE_EQ(update.ms, 0.001) << "one look at the clock before it, one after";
  EXPECT_EQ(update.flops, 2 + 3);
  EXPECT_EQ(update.bytes, 2 * (2 + 3) * 4);
  const std::vector<LedgerRow> top = bundles(rank.ledger);
  ASSERT_THAT(top, SizeIs(1));
  EXPECT_THAT(top[0].op, HasSubstr("2 at once, the first: "));
  EXPECT_EQ(top[0].flops, 2 + 3);
}

TEST(Ledger, LeavesOutEvaluationsAndReads) {
  MeasuredRank rank;
  for (int i = 0; i < 4; ++i) rank.step();
  const double before = (rank.engine.wait(), rank.ledger.mean_step_ms());
  for (int i = 0; i < 4; ++i) {
    const Tensor y = rank.p * rank.p;
    rank.engine.mark_step(SyncReason::kEvaluation);
  }
  const Tensor z = rank.p + rank.p;
  EXPECT_THAT(values_of(z), SizeIs(2));
  EXPECT_THAT(rank.ledger.last_steps().step_ms(), SizeIs(3));
  EXPECT_EQ(rank.ledger.mean_step_ms(), before);
}

TEST(Ledger, NumbersItsStepsAndTellsTheFirstOfAProgram) {
  MeasuredRank rank;
  for (int i = 5; i < 9; ++i) {
    rank.engine.set_step(i);
    rank.step();
    rank.engine.wait();
  }
  const LedgerSteps times = rank.ledger.last_steps();
  EXPECT_THAT(times.step_numbers(), testing::ElementsAre(6, 7, 8));
  const std::vector<OddStep> odd = times.odd_steps();
  ASSERT_FALSE(odd.empty());
  EXPECT_EQ(odd[0].step, 5);
  EXPECT_TRUE(odd[0].first_of_program);
  EXPECT_LT(odd[0].ms, 1) << "from its execution, not from the clock's begin";
}

/// The mean time of a row of no program, 0 if there is none.
double part(const Ledger& ledger, const char* work) {
  return find(ledger.rows(), "step", work).ms;
}

TEST(Ledger, CountsPausesAsWhatTheyAreAndNotAsIdle) {
  MeasuredRank rank;
  for (int i = 0; i < 3; ++i) rank.step();
  rank.engine.wait();
  const double idle = part(rank.ledger, "idle") * 2;
  EXPECT_EQ(part(rank.ledger, "evaluation") + part(rank.ledger, "checkpoint"), 0);

  for (int i = 0; i < 3; ++i) {
    const Tensor y = rank.p * rank.p;
    rank.engine.mark_step(SyncReason::kEvaluation);
  }
  rank.engine.wait();
  rank.clock.advance(1'000'000'000);
  rank.step();
  rank.engine.wait();
  EXPECT_GT(part(rank.ledger, "evaluation") * 3, 1000);

  rank.engine.snapshot({&rank.p, 1}, {HostTensor(DType::kF32, Shape{2})})->wait();
  rank.clock.advance(2'000'000'000);
  rank.step();
  rank.engine.wait();
  EXPECT_GT(part(rank.ledger, "checkpoint") * 4, 2000);
  EXPECT_LT(part(rank.ledger, "checkpoint") * 4, 2100);

  const Tensor z = rank.p + rank.p;
  EXPECT_THAT(values_of(z), SizeIs(2));
  rank.step();
  rank.engine.wait();
  EXPECT_GT(part(rank.ledger, "value reads"), 0);
  EXPECT_LT(part(rank.ledger, "idle") * 5, idle + 100) << "a few looks at the clock each";
  EXPECT_THAT(sum_of(rank.ledger.rows()), DoubleNear(rank.ledger.mean_step_ms(), 1e-9));
}

TEST(Ledger, CountsTheWaitForInputsAsOneOfTheDevice) {
  MeasuredRank rank;
  for (int i = 0; i < 2; ++i) rank.step();
  rank.engine.wait();
  auto late = std::make_shared<DeviceTensor>(Type{DType::kF32, Shape{2}});
  const Tensor x = rank.engine.adopt(late, InputKind::kBatch, "batch.x");
  rank.p.assign(rank.p - all_reduce(rank.p * x));
  const double gaps = rank.metrics.total("ExposedGap");
  const int looks = rank.clock.looks();
  std::thread copy([&] {
    while (rank.clock.looks() == looks) std::this_thread::yield();
    // The device has come to the step, and waits for its input.
    rank.clock.advance(1'000'000'000);
    late->buffers.push_back(rank.device.allocator().allocate(8, "late"));
    std::memset(late->buffers[0]->data(), 0, 8);
    late->ready->set();
  });
  rank.engine.mark_step(SyncReason::kStepEnd);
  copy.join();
  rank.engine.wait();
  EXPECT_GT(part(rank.ledger, "inputs") * 2, 1000);
  EXPECT_GT(rank.metrics.total("ExposedGap") - gaps, 1e9);
}

TEST(Ledger, NamesBundlesWithTypesAndPlace) {
  MeasuredRank rank;
  for (int i = 0; i < 3; ++i) rank.step();
  rank.engine.wait();
  const std::vector<LedgerRow> rows = bundles(rank.ledger);
  EXPECT_THAT(rows, SizeIs(2));
  EXPECT_THAT(rows, Each(Field(&LedgerRow::line, HasSubstr("ledger_test.cpp:"))));
  EXPECT_THAT(rows, Contains(Field(&LedgerRow::op, HasSubstr("f32[2] (f32[2], f32[2])"))));
}

TEST(Ledger, SaysWhatTheMachineNeedsForEachBundle) {
  MeasuredRank rank;
  for (int i = 0; i < 3; ++i) rank.step();
  rank.engine.wait();
  const std::vector<LedgerRow> rows = rank.ledger.rows();
  EXPECT_EQ(find(rows, "gradient", "fused").lower_bound_ms, 2 * 2000);  // two micro-batches
  EXPECT_EQ(find(rows, "update", "optimizer").lower_bound_ms, 2000);
  EXPECT_EQ(find(rows, "step", "idle").lower_bound_ms, 0);
}

TEST(Ledger, IsEmptyBeforeAStepRanTwice) {
  MeasuredRank rank;
  rank.step();
  rank.engine.wait();
  EXPECT_THAT(rank.ledger.rows(), IsEmpty());
}

}  // namespace
}  // namespace lockstep
