#include "trainer/statistics/op_statistics.h"

#include <gmock/gmock.h>

#include "core/kernels/base/work_class.h"
#include "core/observe/program_table.h"
#include "core/runtime/compiled_step.h"
#include "trainer/statistics/profile_text.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

LedgerRow bundle(const char* work, const char* op, double ms) {
  return {.program = "gradient",
          .work = work,
          .op = op,
          .module = "h.0",
          .line = "gpt.cpp:41",
          .ms = ms,
          .min_ms = ms,
          .lower_bound_ms = 3,
          .commands = 2,
          .flops = 12e6,
          .bytes = 6e6};
}

/// A rank whose products take so long, and which waits for others the rest of 10 ms.
RankProfile rank_with(int rank, double dot_ms) {
  RankProfile out;
  out.rank = rank;
  out.ranks = 2;
  out.host = "node";
  out.limits = "calibrated today";
  out.steps = 3;
  out.mean_step_ms = 10;
  out.step_ms = {9, 10, 11};
  out.rows = {bundle("dot", "dot_general f32[2,2]", dot_ms),
              {.program = "step", .work = "all-reduce", .ms = 8 - dot_ms},
              {.program = "step", .work = "idle", .ms = 1.5},
              {.program = "step", .work = "other", .ms = 0.5}};
  return out;
}

/// The same, standing for a device on which products take 0.4 ms and the wait 0.1.
RankProfile simulated_rank_with(int rank, double dot_ms) {
  RankProfile out = rank_with(rank, dot_ms);
  out.simulated = {.device = "a100", .steps = 4, .mean_step_ms = 0.5};
  out.rows[0].virtual_ms = 0.4;
  out.rows[0].virtual_lower_bound_ms = 0.1;
  out.rows[1].virtual_ms = 0.1;
  return out;
}

TEST(OpStatistics, AreMeansOverRanksWithTheSkewBetweenThem) {
  const auto rows = op_statistics({rank_with(0, 4), rank_with(1, 6)}, GroupBy::kClass);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].mean.work, "dot");
  EXPECT_DOUBLE_EQ(rows[0].mean.ms, 5);
  EXPECT_DOUBLE_EQ(rows[0].mean.commands, 2);
  EXPECT_THAT(rows[0].rank_ms, ElementsAre(4, 6));
  EXPECT_EQ(rows[0].slowest(), 1U);
  EXPECT_DOUBLE_EQ(rows[0].skew(), 0.2);
  EXPECT_DOUBLE_EQ(rows[0].of_limit().value_or(0), 0.6);
  EXPECT_EQ(rows[1].of_limit(), std::nullopt);
}

TEST(OpStatistics, CountWhatOnlyOneRankDid) {
  RankProfile alone = rank_with(1, 4);
  alone.rows.push_back({.program = "step", .work = "checkpoint", .ms = 3});
  const auto rows = op_statistics({rank_with(0, 4), alone}, GroupBy::kOp);
  const auto row = std::ranges::find(rows, "checkpoint",
                                     [](const OpStatistics& each) { return each.mean.work; });
  ASSERT_NE(row, rows.end());
  EXPECT_THAT(row->rank_ms, ElementsAre(0, 3));
  EXPECT_DOUBLE_EQ(row->mean.ms, 1.5);
}

TEST(OpStatistics, TheLateRankIsTheOneThatTheOthersWaitFor) {
  const LateRank late = late_rank({rank_with(0, 4), rank_with(1, 6)}).value_or(LateRank{});
  EXPECT_EQ(late.index, 1U);
  EXPECT_DOUBLE_EQ(late.work_ms, 8);
  EXPECT_DOUBLE_EQ(late.others_ms, 6);
  EXPECT_EQ(late.most, "gradient dot");
  EXPECT_DOUBLE_EQ(late.most_ms, 2);
  EXPECT_EQ(late_rank({rank_with(0, 4), rank_with(1, 4.05)}), std::nullopt);
  EXPECT_EQ(late_rank({rank_with(0, 4)}), std::nullopt);
}

/// Every class of work and every part of a step has a share of its own.
TEST(OpStatistics, SharesLeaveNothingOut) {
  RankProfile profile;
  for (int i = 0; i < kWorkClassCount; ++i) {
    const std::string work(name_of(static_cast<WorkClass>(i)));
    profile.rows.push_back(bundle(work.c_str(), "op", 1));
  }
  const ProgramTable programs;
  Ledger ledger(programs, [](const Plan&, std::size_t) { return 0.0; });
  const auto program = std::make_shared<const CompiledStep>();
  LedgerPage page;
  page.parts_ns.fill(1'000'000);
  page.wall_ns = static_cast<std::int64_t>(kStepPartCount) * 1'000'000;
  ledger.add(program, page);
  ledger.add(program, page);
  for (const LedgerRow& row : ledger.rows()) profile.rows.push_back(row);
  const StepShares shares = step_shares({profile});
  EXPECT_NEAR(shares[TimeShare::kOther], 0, 1e-9);
  EXPECT_NEAR(shares[TimeShare::kDevice], kWorkClassCount - 2 + 2, 1e-9);
  EXPECT_NEAR(shares[TimeShare::kAllReduce], 3, 1e-9);
  EXPECT_NEAR(shares[TimeShare::kHost], 4, 1e-9);
  EXPECT_NEAR(shares[TimeShare::kPauses], 3, 1e-9);
}

TEST(OpStatistics, TextHasSharesLimitsLateRankAndRates) {
  const std::vector<RankProfile> profiles{rank_with(0, 4), rank_with(1, 6)};
  const std::string steps = describe_steps(profiles);
  EXPECT_THAT(steps, HasSubstr("3 steps of 10 ms: minimum 9 ms, median 10 ms"));
  EXPECT_THAT(steps, HasSubstr("device 50.0 %, all-reduce 30.0 %, host 15.0 %, pauses 0.0 %, "
                               "other 5.0 %"));
  EXPECT_THAT(steps, HasSubstr("60 % of this machine's limits (calibrated today)"));
  EXPECT_THAT(steps, HasSubstr("rank 1 on node is late: its own work takes 8 ms a step, 33 % "
                               "more"));
  const std::string rows = describe_rows(profiles, GroupBy::kOp, 2);
  EXPECT_THAT(rows, HasSubstr("dot_general f32[2,2] gpt.cpp:41 (h.0)"));
  EXPECT_THAT(rows, HasSubstr("50.0 %     5.000       2      2.4     1.2    60 %    20 % r1"));
  EXPECT_THAT(rows, HasSubstr("and 2 more"));
  EXPECT_THAT(describe_rows({profiles[0]}, GroupBy::kOp, 2), Not(HasSubstr("skew")));
}

TEST(OpStatistics, TextHasVirtualTimesOfARunThatKeptThem) {
  const std::vector<RankProfile> profiles{simulated_rank_with(0, 4), simulated_rank_with(1, 6)};
  EXPECT_THAT(describe_steps(profiles),
              HasSubstr("  sim: virtual time on a100, 4 steps of 500 us; commands run at 25 % of "
                        "its limits\n"));
  const std::string rows = describe_rows(profiles, GroupBy::kClass, 2);
  EXPECT_THAT(rows, HasSubstr(" GB/s   limit    sim ms sim limit  skew, slowest\n"));
  EXPECT_THAT(rows,
              HasSubstr("     5.000      2.4     1.2    60 %     0.400      25 %    20 % r1"));
  EXPECT_THAT(rows,
              HasSubstr("     0.000        -       -       -     0.100         -    33 % r0"));
  EXPECT_THAT(rows, HasSubstr("  and 2 more              2.000  20.0 %"
                              "                                        0.000\n"));
  for (const RankProfile& each : {rank_with(0, 4), rank_with(1, 6)}) {
    EXPECT_THAT(describe_rows({each}, GroupBy::kClass, 2), Not(HasSubstr("sim")));
    EXPECT_THAT(describe_steps({each}), Not(HasSubstr("sim")));
    EXPECT_THAT(rows_csv({each}, GroupBy::kClass), Not(HasSubstr("sim")));
    EXPECT_THAT(statistics_json({each}, GroupBy::kClass), Not(HasSubstr("sim")));
  }
}

/// What takes no time here may take some there.
TEST(OpStatistics, TextHasRowsOfVirtualTimeAlone) {
  RankProfile profile = simulated_rank_with(0, 4);
  profile.simulated.mean_step_ms = 0.7;
  profile.rows.push_back({.program = "step", .work = "inputs", .virtual_ms = 0.2});
  EXPECT_THAT(describe_rows({profile}, GroupBy::kClass, 10), HasSubstr("step     inputs"));
}

TEST(OpStatistics, CsvAndJsonHaveVirtualTimes) {
  const std::vector<RankProfile> profiles{simulated_rank_with(0, 4)};
  const std::string csv = rows_csv(profiles, GroupBy::kClass);
  EXPECT_THAT(csv, HasSubstr(",skew,sim_ms,sim_of_limit,rank_0_ms\r\n"));
  EXPECT_THAT(csv, HasSubstr(",0.4,0.25,4\r\n"));
  EXPECT_THAT(csv, HasSubstr(",0.1,,4\r\n"));
  const std::string json = statistics_json(profiles, GroupBy::kClass);
  EXPECT_THAT(json, HasSubstr("\"device\": \"a100\""));
  EXPECT_THAT(json, HasSubstr("\"sim_ms\": 0.4"));
  EXPECT_THAT(json, HasSubstr("\"sim_of_limit\": 0.25"));
}

TEST(OpStatistics, CsvQuotesWhatHasCommas) {
  const std::string csv = rows_csv({rank_with(0, 4)}, GroupBy::kOp);
  EXPECT_THAT(
      csv, HasSubstr("gradient,\"dot\",\"dot_general f32[2,2]\",\"h.0\",\"gpt.cpp:41\",1,4,0.4,"));
  EXPECT_THAT(csv, HasSubstr(",rank_0_ms\r\n"));
}

}  // namespace
}  // namespace lockstep
