#include "core/engine/ledger.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <string>

#include "core/trace/host_call.h"
#include "tests/core/engine/rank.h"
#include "tests/host_functions.h"

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

/// One microsecond passes with every look at it.
class TickingClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return now_ += 1000; }

 private:
  mutable std::atomic<std::int64_t> now_{0};
};

struct MeasuredRank {
  explicit MeasuredRank(std::size_t programs = 256) : max_programs(programs) {
    engine.start_ledger();
  }

  /// p - the sum over two shards of p * x.
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
    out.max_cached_steps = max_programs;
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
  Tensor p = engine.to_device({Rank::vector_of({1, 1})}, InputKind::kParameter, "p");
};

double sum_of(const std::vector<LedgerRow>& rows) {
  return std::accumulate(rows.begin(), rows.end(), 0.0,
                         [](double sum, const LedgerRow& row) { return sum + row.ms; });
}

const LedgerRow* find(const std::vector<LedgerRow>& rows, std::string_view program,
                      std::string_view work) {
  for (const LedgerRow& row : rows)
    if (row.program == program && row.work == work) return &row;
  return nullptr;
}

TEST(Ledger, SumsToTheWallTimeOfTheSteps) {
  MeasuredRank rank;
  for (int i = 0; i < 6; ++i) rank.step();
  rank.engine.wait();
  const std::vector<LedgerRow> rows = rank.engine.ledger()->rows();
  const std::vector<double> steps = rank.engine.ledger()->step_ms();
  EXPECT_THAT(steps, SizeIs(5));
  EXPECT_THAT(rows, Each(Field(&LedgerRow::ms, testing::Ge(0))));
  const double mean = std::accumulate(steps.begin(), steps.end(), 0.0) / 5;
  EXPECT_THAT(rank.engine.ledger()->mean_step_ms(), DoubleNear(mean, 1e-9));
  EXPECT_THAT(sum_of(rows), DoubleNear(mean, 1e-9));
}

TEST(Ledger, CountsEveryShardsCommandsAndTheOneUpdate) {
  MeasuredRank rank;
  for (int i = 0; i < 3; ++i) rank.step();
  rank.engine.wait();
  const std::vector<LedgerRow> rows = rank.engine.ledger()->rows();
  const LedgerRow* shard = find(rows, "shard", "fused");
  const LedgerRow* update = find(rows, "update", "optimizer");
  ASSERT_NE(shard, nullptr);
  ASSERT_NE(update, nullptr);
  EXPECT_EQ(shard->commands, 2);
  EXPECT_EQ(update->commands, 1);
  // Two looks at the clock around each command, one tick apart.
  EXPECT_GE(shard->ms, 2 * 0.001);
  EXPECT_EQ(shard->flops, 2 * 2);          // two shards, two products each
  EXPECT_EQ(shard->bytes, 2 * 3 * 2 * 4);  // two shards, three vectors of two floats each
  EXPECT_NE(find(rows, "step", "all-reduce"), nullptr);
  EXPECT_NE(find(rows, "step", "gradient sums"), nullptr);
  EXPECT_NE(find(rows, "step", "idle"), nullptr);
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
  const std::vector<LedgerRow> rows = rank.engine.ledger()->rows();
  EXPECT_THAT(sum_of(rows), DoubleNear(rank.engine.ledger()->mean_step_ms(), 1e-9));
  const LedgerRow* row = find(rows, "shard", "host call");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->commands, 2);
  EXPECT_EQ(row->bytes, 2 * 2 * 2 * 4);  // two shards, two floats in and out
  EXPECT_GT(row->ms, 0);
  EXPECT_THAT(rank.engine.ledger()->top_commands(100),
              Contains(AllOf(
                  Field(&LedgerRow::work, "host call"),
                  Field(&LedgerRow::detail,
                        fmt::format("host_call reverse f32[2] (f32[2]) ledger_test.cpp:{} (head)",
                                    line)))));
}

TEST(Ledger, GivesTheLeastTimeOfEachPartBesideTheMean) {
  const auto program = std::make_shared<CompiledStep>();
  Ledger ledger;
  LedgerPage page;
  ledger.add(program, page);  // left out
  page.gradient_sums_ns = 5'000'000;
  page.all_reduce_ns = 2'000'000;
  ledger.add(program, page);
  page.gradient_sums_ns = 3'000'000;
  page.all_reduce_ns = 4'000'000;
  ledger.add(program, page);
  const std::vector<LedgerRow> rows = ledger.rows();
  EXPECT_DOUBLE_EQ(find(rows, "step", "gradient sums")->ms, 4);
  EXPECT_DOUBLE_EQ(find(rows, "step", "gradient sums")->least_ms, 3);
  EXPECT_DOUBLE_EQ(find(rows, "step", "all-reduce")->least_ms, 2);
}

TEST(Ledger, KeepsFewProgramsAndTheTimesOfAll) {
  Ledger ledger(2);
  std::vector<std::weak_ptr<const CompiledStep>> programs;
  LedgerPage page;
  page.gradient_sums_ns = 5'000'000;
  page.idle_ns = 1'000'000;
  page.wall_ns = 8'000'000;
  for (int i = 0; i < 10; ++i) {
    const auto program = std::make_shared<const CompiledStep>();
    programs.push_back(program);
    ledger.add(program, page);  // left out
    page.gradient_sums_ns -= 100'000;
    ledger.add(program, page);
  }
  const auto kept = std::ranges::count_if(programs, [](const auto& p) { return !p.expired(); });
  EXPECT_EQ(kept, 2);
  const std::vector<LedgerRow> rows = ledger.rows();
  EXPECT_THAT(ledger.step_ms(), SizeIs(10));
  EXPECT_DOUBLE_EQ(find(rows, "step", "gradient sums")->ms, 4.45);
  EXPECT_DOUBLE_EQ(find(rows, "step", "gradient sums")->least_ms, 4.45);
  EXPECT_DOUBLE_EQ(find(rows, "step", "idle")->ms, 1);
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
    for (const LedgerRow& row : rank.engine.ledger()->top_commands(100))
      out.insert(fmt::format("{} {} {} {}", row.program, row.detail, row.commands, row.flops));
    return out;
  };
  EXPECT_THAT(told(256), SizeIs(3));
  EXPECT_EQ(told(1), told(256));
}

TEST(Ledger, SumsTheLeastTimesOfCommands) {
  MeasuredRank rank;
  rank.record();
  const std::shared_ptr<const CompiledStep> program = rank.engine.compile_pending();
  Ledger ledger;
  LedgerPage page;
  const auto add = [&](std::int64_t shard_ns, std::int64_t update_ns) {
    page.shard_ns.assign(program->shard.commands.size(), shard_ns);
    page.update_ns.assign(program->update.commands.size(), update_ns);
    ledger.add(program, page);
  };
  add(1'000'000, 1'000'000);  // left out
  add(5'000'000, 2'000'000);
  add(3'000'000, 6'000'000);
  const std::vector<LedgerRow> rows = ledger.top_commands(100);
  EXPECT_THAT(rows, SizeIs(2));
  for (const LedgerRow& row : rows) {
    EXPECT_DOUBLE_EQ(row.ms, 4) << row.detail;
    EXPECT_DOUBLE_EQ(row.least_ms, row.program == "shard" ? 3 : 2) << row.detail;
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
  const std::vector<LedgerRow> rows = rank.engine.ledger()->rows();
  const LedgerRow* update = find(rows, "update", "optimizer");
  ASSERT_NE(update, nullptr);
  EXPECT_EQ(update->commands, 1);
  EXPECT_DOUBLE_EQ(update->ms, 0.001) << "one look at the clock before it, one after";
  EXPECT_EQ(update->flops, 2 + 3);
  EXPECT_EQ(update->bytes, 2 * (2 + 3) * 4);
  const std::vector<LedgerRow> top = rank.engine.ledger()->top_commands(100);
  ASSERT_THAT(top, SizeIs(1));
  EXPECT_THAT(top[0].detail, HasSubstr("2 at once, the first: "));
  EXPECT_EQ(top[0].flops, 2 + 3);
}

TEST(Ledger, LeavesOutEvaluationsAndReads) {
  MeasuredRank rank;
  for (int i = 0; i < 4; ++i) rank.step();
  const double before = (rank.engine.wait(), rank.engine.ledger()->mean_step_ms());
  for (int i = 0; i < 4; ++i) {
    const Tensor y = rank.p * rank.p;
    rank.engine.mark_step(SyncReason::kEvaluation);
  }
  const Tensor z = rank.p + rank.p;
  EXPECT_THAT(values_of(z), SizeIs(2));
  EXPECT_THAT(rank.engine.ledger()->step_ms(), SizeIs(3));
  EXPECT_EQ(rank.engine.ledger()->mean_step_ms(), before);
}

TEST(Ledger, NamesTheLongestCommandsWithTypesAndPlace) {
  MeasuredRank rank;
  for (int i = 0; i < 3; ++i) rank.step();
  rank.engine.wait();
  const std::vector<LedgerRow> top = rank.engine.ledger()->top_commands(100);
  EXPECT_THAT(top, Contains(Field(&LedgerRow::detail, AllOf(HasSubstr("f32[2] (f32[2], f32[2])"),
                                                            HasSubstr("ledger_test.cpp")))));
  EXPECT_THAT(rank.engine.ledger()->top_commands(1), SizeIs(1));
  EXPECT_THAT(rank.engine.ledger()->table(1), HasSubstr("100 % of the wall time"));
}

TEST(Ledger, IsEmptyBeforeAStepRanTwice) {
  MeasuredRank rank;
  rank.step();
  rank.engine.wait();
  EXPECT_THAT(rank.engine.ledger()->rows(), IsEmpty());
  EXPECT_THAT(rank.engine.ledger()->table(5), HasSubstr("no step ran twice"));
}

TEST(Ledger, IsAbsentUnlessStarted) {
  Rank rank;
  EXPECT_EQ(rank.engine.ledger(), nullptr);
}

}  // namespace
}  // namespace lockstep
