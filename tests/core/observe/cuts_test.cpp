#include "core/observe/cuts.h"

#include <string>
#include <thread>
#include <vector>

#include "core/trace/context.h"
#include "core/trace/reads.h"
#include "tests/core/engine/rank.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string line_of(int line) {
  return fmt::format("cuts_test.cpp:{}", line);
}

/// What a training loop does around a step, and what a user reads in it.
struct CutRank : Rank {
  /// The reads, told apart by line.
  std::vector<Cuts::Row> reads() const {
    std::vector<Cuts::Row> out = engine.cuts().rows();
    std::erase_if(out, [](const Cuts::Row& row) { return row.reason != "value read"; });
    return out;
  }
  void end_step() { engine.mark_step(SyncReason::kStepEnd); }

  Tensor p = variable({1, 2});
};

TEST(Cuts, NamesTheLineOfAPendingValueThatIsReadInAStep) {
  CutRank rank;
  rank.engine.begin_step();
  const ModuleScope scope(rank.context, "head");
  const int made = __LINE__ + 1;
  const Tensor twice = rank.p + rank.p;
  const int read = __LINE__ + 1;
  twice.to_host();
  rank.end_step();
  EXPECT_EQ(rank.engine.cuts().graph_breaks(), 1);
  EXPECT_THAT(
      rank.reads(),
      ElementsAre(AllOf(Field(&Cuts::Row::line, line_of(read)),
                        Field(&Cuts::Row::what, fmt::format("f32[2] {} (head)", line_of(made))),
                        Field(&Cuts::Row::in_step, true), Field(&Cuts::Row::count, 1))));
}

TEST(Cuts, CountsAComputedValueThatIsReadInAStep) {
  CutRank rank;
  rank.p.assign(rank.p + rank.p);
  rank.end_step();
  rank.engine.wait();
  rank.engine.begin_step();
  const int read = __LINE__ + 1;
  rank.p.to_host();
  rank.end_step();
  EXPECT_THAT(rank.reads(), ElementsAre(AllOf(Field(&Cuts::Row::line, line_of(read)),
                                              Field(&Cuts::Row::in_step, true))));
}

TEST(Cuts, TellsLinesApartAndCountsEach) {
  CutRank rank;
  int first = 0;
  int second = 0;
  for (int step = 0; step < 3; ++step) {
    rank.engine.begin_step();
    const Tensor total = sum(rank.p);
    first = __LINE__ + 1;
    total.item();
    second = __LINE__ + 1;
    for (int i = 0; i < 2; ++i) rank.p.to_host();
    rank.p.assign(rank.p * 0.5);
    rank.end_step();
  }
  EXPECT_EQ(rank.engine.cuts().graph_breaks(), 9);
  EXPECT_THAT(rank.reads(),
              testing::UnorderedElementsAre(
                  AllOf(Field(&Cuts::Row::line, line_of(first)), Field(&Cuts::Row::count, 3)),
                  AllOf(Field(&Cuts::Row::line, line_of(second)), Field(&Cuts::Row::count, 6))));
}

TEST(Cuts, AReadBetweenStepsIsNoGraphBreakAndOneThatWaitsIsTold) {
  CutRank rank;
  const EventPtr gate = rank.block_device();
  rank.engine.begin_step();
  rank.p.assign(rank.p + rank.p);
  rank.end_step();
  std::thread opener([&] { gate->set(); });
  const int read = __LINE__ + 1;
  rank.p.to_host();
  opener.join();
  rank.p.to_host();  // it is there: nobody waits, and nobody is told
  const std::vector<Cuts::Row> reads = rank.reads();
  EXPECT_EQ(rank.engine.cuts().graph_breaks(), 0);
  ASSERT_LE(reads.size(), 1U);  // the gate may have been quicker
  for (const Cuts::Row& row : reads)
    EXPECT_THAT(row, AllOf(Field(&Cuts::Row::line, line_of(read)),
                           Field(&Cuts::Row::in_step, false), Field(&Cuts::Row::count, 1)));
}

TEST(Cuts, WhatLockstepReadsForItselfIsNotCounted) {
  CutRank rank;
  rank.engine.begin_step();
  {
    const OwnReads late(rank.context);
    (rank.p + rank.p).to_host();
    rank.p.to_host();
  }
  rank.end_step();
  EXPECT_THAT(rank.reads(), IsEmpty());
}

TEST(Cuts, SayHowLongHostAndDeviceWaited) {
  CutRank rank;
  rank.clock.advance_ns(1);
  rank.p.assign(rank.p + rank.p);
  rank.end_step();
  rank.engine.wait();
  rank.engine.begin_step();
  rank.p.to_host();
  rank.clock.advance_ns(3'000'000);  // the host computes with it, and the device has nothing to do
  rank.p.assign(rank.p * 0.5);
  rank.end_step();
  rank.engine.wait();
  ASSERT_THAT(rank.reads(), SizeIs(1));
  EXPECT_EQ(rank.reads()[0].idle_ns, 3'000'000);
  rank.clock.advance_ns(5'000'000);  // not because of the read
  rank.p.assign(rank.p * 0.5);
  rank.end_step();
  rank.engine.wait();
  EXPECT_EQ(rank.reads()[0].idle_ns, 3'000'000);
  EXPECT_THAT(describe_reads(rank.engine.cuts().rows()),
              HasSubstr("the device was idle 3 ms each (graph break)"));
  EXPECT_EQ(rank.engine.cuts().worst_line(), rank.reads()[0].line);
}

TEST(Cuts, CallANumberOfAStepByItsNameAndStep) {
  CutRank rank;
  for (const std::int64_t step : {4, 3, 7}) {
    rank.engine.begin_step();
    const StepNumberRead named(rank.context, "the loss", step);
    rank.p.to_host();
    rank.end_step();
  }
  const int other = __LINE__ + 2;
  rank.engine.begin_step();
  rank.p.to_host();
  rank.end_step();
  const std::vector<Cuts::Row> reads = rank.reads();
  ASSERT_THAT(reads, SizeIs(2));
  EXPECT_THAT(reads, testing::Contains(testing::ResultOf(
                         [](const Cuts::Row& r) { return r.told(); }, "the loss of steps 3 to 7")));
  EXPECT_THAT(reads, testing::Contains(AllOf(Field(&Cuts::Row::line, line_of(other)),
                                             Field(&Cuts::Row::what, HasSubstr("f32[2]")),
                                             Field(&Cuts::Row::first_step, 0))));
  EXPECT_THAT(describe_reads(reads), HasSubstr(": the loss of steps 3 to 7: "));
  EXPECT_EQ((Cuts::Row{.what = "the loss", .first_step = 5, .last_step = 5}.told()),
            "the loss of step 5");
}

TEST(Cuts, CanBeForbidden) {
  CutRank rank;
  rank.engine.forbid_reads();
  rank.p.to_host();  // between steps
  rank.engine.begin_step();
  const Tensor twice = rank.p + rank.p;
  const int read = __LINE__ + 1;
  EXPECT_THAT(
      error_of([&] { twice.to_host(); }),
      AllOf(HasSubstr(line_of(read)), HasSubstr("f32[2]"), HasSubstr("profile.forbid_reads")));
  EXPECT_THAT(error_of([&] { rank.p.to_host(); }), HasSubstr(line_of(__LINE__)));
  rank.end_step();
  EXPECT_THAT(values_of(twice), ElementsAre(2, 4));
}

TEST(Cuts, CountMarksByReason) {
  CutRank rank;
  for (int i = 0; i < 2; ++i) {
    rank.p.assign(rank.p + rank.p);
    rank.end_step();
  }
  rank.engine.mark_step(SyncReason::kEvaluation);
  EXPECT_THAT(rank.engine.cuts().rows(),
              testing::UnorderedElementsAre(
                  AllOf(Field(&Cuts::Row::reason, std::string(name_of(SyncReason::kStepEnd))),
                        Field(&Cuts::Row::count, 2)),
                  AllOf(Field(&Cuts::Row::reason, std::string(name_of(SyncReason::kEvaluation))),
                        Field(&Cuts::Row::count, 1))));
}

TEST(Cuts, HaveABound) {
  Cuts cuts;
  for (int i = 0; i < 1000; ++i)
    cuts.add_idle(cuts.add({.reason = "value read", .line = std::to_string(i)}), 1);
  const std::vector<Cuts::Row> rows = cuts.rows();
  EXPECT_LE(rows.size(), Cuts::kMaxRows + 1);
  std::int64_t count = 0;
  std::int64_t idle = 0;
  for (const Cuts::Row& row : rows) {
    count += row.count;
    idle += row.idle_ns;
  }
  EXPECT_EQ(count, 1000);
  EXPECT_EQ(idle, 1000);
}

}  // namespace
}  // namespace lockstep
