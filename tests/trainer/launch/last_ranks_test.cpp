#include "trainer/launch/last_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A job of two ranks, one on each of two hosts, and a clock that the test moves.
class LastRanksTest : public testing::Test {
 protected:
  LastRanksTest() {
    ranks_.size = 2;
    ranks_.here.push_back(rank(0, "node1", Phase::kExit));
    ranks_.elsewhere.push_back(rank(1, "node2", Phase::kGenerate));
  }

  static RankReport rank(int number, const std::string& host, Phase phase) {
    RankReport out;
    out.rank = number;
    out.host = host;
    out.pid = 100 + number;
    out.host_lane = {phase, -1, ""};
    return out;
  }

  /// Looks ten times a second; `heard`: whether frames come from the other host. Ends at the first
  /// word of an end.
  std::string run(double seconds, bool heard) {
    Judgement last;
    for (int i = 0; i < static_cast<int>(seconds * 10) && last.fatal.empty(); ++i) {
      now_ns_ += 100'000'000;
      for (RankReport& report : ranks_.elsewhere) {
        report.age_s = heard ? 0 : report.age_s + 0.1;
        if (report.age_s > OtherNodes::kPatience && !report.exit_code)
          report.state = ProcessState::kUnknown;
      }
      last = judge_.judge(now_ns_, ranks_);
      warnings_.insert(warnings_.end(), last.warnings.begin(), last.warnings.end());
    }
    return last.fatal;
  }

  LastRanks judge_{{.warn_s = 30, .abort_s = 300}};
  RanksInSight ranks_;
  std::vector<std::string> warnings_;
  std::int64_t now_ns_ = 0;
};

TEST_F(LastRanksTest, RanksThatRunAreTheirOwnMatter) {
  EXPECT_EQ(run(1000, true), "");
  ranks_.here[0].state = ProcessState::kStopped;  // the other one may wait for it, and says so
  EXPECT_EQ(run(1000, true), "");
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(LastRanksTest, AStoppedRankThatIsTheLastIsNamedAndEnded) {
  run(1, true);
  ranks_.here[0].state = ProcessState::kStopped;
  EXPECT_EQ(run(299, false), "");
  EXPECT_THAT(
      warnings_,
      ElementsAre("rank 0 (node1, 100) is stopped, in the end of the process, for 30 s, and no "
                  "other rank of the job runs; the job ends after 300 s "
                  "(distributed.stall_abort_s)"));
  EXPECT_EQ(run(3, false),
            "rank 0 (node1, 100) is stopped, in the end of the process, for 300 s, and no other "
            "rank of the job runs");
}

TEST_F(LastRanksTest, AStopThatEndsInTimeIsForgotten) {
  run(1, true);
  for (int i = 0; i < 3; ++i) {
    ranks_.here[0].state = ProcessState::kStopped;
    EXPECT_EQ(run(200, false), "");
    ranks_.here[0].state = ProcessState::kRunning;
    EXPECT_EQ(run(1, false), "");
  }
}

TEST_F(LastRanksTest, AJobWhoseRanksAreAllStoppedIsSuspended) {
  ranks_.elsewhere.clear();
  ranks_.here.push_back(rank(1, "node1", Phase::kForward));
  run(1, true);
  for (RankReport& report : ranks_.here) report.state = ProcessState::kStopped;
  EXPECT_EQ(run(1000, true), "");
  ranks_.here.pop_back();
  EXPECT_THAT(run(1000, true), HasSubstr("rank 0 (node1, 100) is stopped"));
}

TEST_F(LastRanksTest, TimeInWhichNobodyLookedDoesNotCount) {
  run(1, true);
  ranks_.here[0].state = ProcessState::kStopped;
  EXPECT_EQ(run(290, false), "");
  now_ns_ += 3'600'000'000'000;
  EXPECT_EQ(run(299, false), "");
  EXPECT_NE(run(5, false), "");
}

TEST_F(LastRanksTest, AHostWithoutRanksWaitsForThoseThatAreHeardOf) {
  run(1, true);
  ranks_.here.clear();
  EXPECT_EQ(run(1000, true), "");
  EXPECT_EQ(run(LastRanks::kMpirunPatience, false), "");
  EXPECT_EQ(run(1, false),
            "the ranks of this host have ended, but mpirun has not: rank 1 (node2, 101) is out of "
            "sight, in sampling, for 10 s");
}

TEST_F(LastRanksTest, WhoWasNeverHeardOfIsNamed) {
  ranks_.elsewhere.clear();
  run(1, true);
  ranks_.here.clear();
  EXPECT_THAT(run(11, true), HasSubstr("it waits for rank 1, which cannot be seen from "));
}

TEST_F(LastRanksTest, TheOtherHostsAreNamedWithRanksThatWereNeverHeardOf) {
  LastRanks judge{{.warn_s = 30, .abort_s = 300}, {"node2", "node3"}};
  RanksInSight ranks = ranks_;
  ranks.elsewhere.clear();
  judge.judge(0, ranks);
  ranks.here.clear();
  judge.judge(1'000'000'000, ranks);
  Judgement last;
  for (std::int64_t second = 1; second < 13; ++second)
    last = judge.judge(second * 1'000'000'000, ranks);
  EXPECT_THAT(last.fatal, HasSubstr("it waits for rank 1, which cannot be seen from "));
  EXPECT_THAT(last.fatal, HasSubstr(" (other hosts of the job: node2 node3)"));
}

TEST_F(LastRanksTest, AnMpirunThatWaitsForItself) {
  ranks_.elsewhere[0].exit_code = 0;
  EXPECT_EQ(run(1, true), "");
  ranks_.here.clear();
  EXPECT_EQ(run(LastRanks::kMpirunPatience, false), "");
  EXPECT_THAT(run(1, false), HasSubstr("it waits for rank 1 (node2, 101), which was about to end "
                                       "with code 0, 10 s ago, or for itself"));
}

TEST_F(LastRanksTest, NothingIsLateBeforeTheFirstRank) {
  ranks_.size = 0;
  ranks_.here.clear();
  EXPECT_EQ(run(1000, false), "");
}

}  // namespace
}  // namespace lockstep
