#include "watch/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Ranks whose reports the test writes, and a clock that it moves.
class Trial {
 public:
  explicit Trial(int ranks) {
    judge_.set_limits({.warn_s = 30, .abort_s = 300, .foreign_abort_s = 1800});
    for (int rank = 0; rank < ranks; ++rank) {
      RankReport report;
      report.rank = rank;
      report.host = "host";
      report.pid = 100 + rank;
      report.host_lane = {Phase::kRead, 812, ""};
      report.device_lane = {Phase::kForward, 812, "dot_general"};
      scene_.ranks.push_back(report);
    }
  }

  RankReport& rank(int rank) { return scene_.ranks[static_cast<std::size_t>(rank)]; }
  Scene& scene() { return scene_; }

  void wait_in(int rank, const std::string& what, std::int64_t step = -1) {
    this->rank(rank).waits_for_peers = true;
    this->rank(rank).peer_wait = what;
    this->rank(rank).peer_step = step;
  }

  /// Looks every second; halted processes do not beat, the others do. Ends at the first word.
  Judgement run(double seconds) {
    Judgement last;
    for (int i = 0; i < static_cast<int>(seconds); ++i) {
      look(1);
      warnings_.insert(warnings_.end(), last_.warnings.begin(), last_.warnings.end());
      if (!last_.fatal.empty()) break;
    }
    return last_;
  }
  void look(double seconds) {
    now_ns_ += static_cast<std::int64_t>(seconds * 1e9);
    for (RankReport& report : scene_.ranks)
      if (!is_halted(report.state) && !frozen_) ++report.beat;
    last_ = judge_.judge(now_ns_, scene_);
  }
  /// The ranks in `moving` get on while time passes.
  Judgement run_while_moving(double seconds, const std::vector<int>& moving) {
    for (int i = 0; i < static_cast<int>(seconds) && last_.fatal.empty(); ++i) {
      for (const int rank : moving) ++this->rank(rank).progress;
      run(1);
    }
    return last_;
  }
  std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }
  void ask_to_stop() { judge_.begin_stop(); }
  void set_limits(const WatchLimits& limits) { judge_.set_limits(limits); }
  double now() const { return static_cast<double>(now_ns_) * 1e-9; }
  bool frozen_ = false;

 private:
  Judge judge_;
  Scene scene_;
  std::int64_t now_ns_ = 0;
  Judgement last_;
  std::vector<std::string> warnings_;
};

TEST(Judge, NamesTheStoppedRankAndWhoWaitsForIt) {
  Trial trial(4);
  trial.look(1);
  trial.rank(2).state = ProcessState::kStopped;
  for (const int rank : {0, 1, 3}) trial.wait_in(rank, "all_reduce bucket 4", 812);
  EXPECT_EQ(trial.run(400).fatal,
            "rank 2 (host, 102) is stopped, at step 812 in forward and backward (dot_general), for "
            "301 s; ranks 0 1 3 wait for it in all_reduce bucket 4 at step 812");
  EXPECT_THAT(trial.take_warnings(),
              ElementsAre("rank 2 (host, 102) is stopped, at step 812 in forward and backward "
                          "(dot_general), for 31 s; ranks 0 1 3 wait for it in all_reduce bucket 4 "
                          "at step 812; the job ends after 300 s (distributed.stall_abort_s)"));
}

TEST(Judge, NamesARankThatWasStoppedWhileItWaited) {
  Trial trial(2);
  trial.wait_in(0, "all_reduce bucket 0", 3);
  trial.wait_in(1, "all_reduce bucket 0", 3);
  trial.rank(0).state = ProcessState::kStopped;
  const Judgement judgement = trial.run(400);
  EXPECT_THAT(judgement.fatal, HasSubstr("rank 0 (host, 100) is stopped"));
  EXPECT_THAT(judgement.fatal, HasSubstr("; rank 1 waits for it in all_reduce bucket 0 at step 3"));
}

TEST(Judge, LeavesARankAloneWhoseCounterMoves) {
  Trial trial(2);
  trial.rank(0).host_lane = {Phase::kEvaluate, 812, ""};
  trial.wait_in(1, "exchange 'evaluation'");
  EXPECT_EQ(trial.run_while_moving(5000, {0}).fatal, "");
  EXPECT_THAT(trial.take_warnings(), IsEmpty());
}

TEST(Judge, LeavesARankAloneThatMovesNowAndThen) {
  Trial trial(2);
  trial.wait_in(1, "exchange 'evaluation'");
  for (int i = 0; i < 10; ++i) {
    ++trial.rank(0).progress;
    EXPECT_EQ(trial.run(299).fatal, "");
  }
  EXPECT_THAT(trial.take_warnings(), SizeIs(10)) << "one warning for each time it stood";
}

TEST(Judge, EndsALoneLoopThatStandsStill) {
  Trial trial(1);
  trial.rank(0).host_lane = {Phase::kInputWait, 5, ""};
  trial.rank(0).device_lane = {Phase::kIdle, -1, ""};
  EXPECT_EQ(
      trial.run(1000).fatal,
      "rank 0 (host, 100) makes no progress, at step 5 in the wait for the loader, for 301 s");
}

TEST(Judge, WaitsForSecondsOnlyOnceAskedToStop) {
  Trial trial(1);
  trial.run(200);
  trial.ask_to_stop();
  EXPECT_EQ(trial.run(10).fatal, "") << "all counts start anew";
  EXPECT_EQ(trial.run(2).fatal,
            "rank 0 (host, 100) makes no progress, at step 812 in forward and backward "
            "(dot_general), for 11 s");
}

TEST(Judge, LetsARankThatGetsOnSaveAndEnd) {
  Trial trial(1);
  trial.ask_to_stop();
  EXPECT_EQ(trial.run_while_moving(1000, {0}).fatal, "");
}

TEST(Judge, GivesForeignCallsAndProgramsLittleTimeOnceAskedToStop) {
  Trial trial(1);
  trial.rank(0).foreign_calls = {"host_call match"};
  trial.ask_to_stop();
  EXPECT_EQ(trial.run(30).fatal, "");
  EXPECT_THAT(trial.run(2).fatal, HasSubstr("(in host_call match)"));

  Trial program(1);
  program.rank(0).host_lane = {Phase::kProgram, -1, ""};
  EXPECT_EQ(program.run(5000).fatal, "") << "it may compute for as long as it likes";
  program.ask_to_stop();
  EXPECT_THAT(program.run(20).fatal, HasSubstr("in the program's own code, for 11 s"));
}

TEST(Judge, LetsACheckpointBeWrittenWhenAskedToStop) {
  for (const Phase phase : {Phase::kSnapshot, Phase::kWrite}) {
    Trial trial(1);
    trial.rank(0).host_lane = {phase, 812, ""};
    trial.rank(0).foreign_calls = {"fsync"};
    trial.ask_to_stop();
    EXPECT_EQ(trial.run(1799).fatal, "");
    EXPECT_THAT(trial.run(10).fatal, HasSubstr("(in fsync)"));
  }
}

TEST(Judge, TakesALowerLimitThanThatOfStopping) {
  Trial trial(1);
  trial.set_limits({.warn_s = 1, .abort_s = 3, .foreign_abort_s = 5});
  trial.ask_to_stop();
  EXPECT_THAT(trial.run(10).fatal, HasSubstr("for 4 s"));
}

TEST(Judge, EndsADeadlockSoonOnceAskedToStop) {
  Trial trial(2);
  for (const int rank : {0, 1}) trial.wait_in(rank, "exchange");
  trial.ask_to_stop();
  EXPECT_THAT(trial.run(20).fatal, HasSubstr("no rank has made progress for 11 s"));
}

TEST(Judge, LeavesCommandsAloneThatAreNoLoop) {
  Trial trial(1);
  trial.rank(0).host_lane = {Phase::kStart, -1, ""};
  EXPECT_EQ(trial.run(5000).fatal, "");
  EXPECT_THAT(trial.take_warnings(), IsEmpty());
}

TEST(Judge, JudgesEveryPhaseThatAnotherRankWaitsFor) {
  Trial trial(2);
  trial.rank(0).host_lane = {Phase::kPrepare, -1, ""};
  trial.wait_in(1, "exchange 'resume from'");
  EXPECT_EQ(
      trial.run(1000).fatal,
      "rank 0 (host, 100) makes no progress, in the preparation of the run, for 301 s; rank 1 "
      "waits for it in exchange 'resume from'");
}

TEST(Judge, GivesTheStartOfAProcessTheTimeOfAForeignCall) {
  Trial trial(2);
  trial.rank(0).host_lane = {Phase::kStart, -1, ""};
  trial.wait_in(1, "MPI_Init");
  EXPECT_EQ(trial.run(1790).fatal, "");
  EXPECT_THAT(trial.run(100).fatal, HasSubstr("in the start of the process"));
}

TEST(Judge, GivesForeignCallsTheirTimeAndNamesThem) {
  Trial trial(1);
  trial.rank(0).host_lane = {Phase::kInputWait, 5, ""};
  trial.rank(0).device_lane = {Phase::kIdle, -1, ""};
  trial.rank(0).foreign_calls = {"Dataset::get"};
  EXPECT_EQ(trial.run(1790).fatal, "");
  EXPECT_THAT(
      trial.take_warnings(),
      ElementsAre(
          "rank 0 (host, 100) makes no progress (in Dataset::get), at step 5 in the wait for "
          "the loader, for 31 s; the job ends after 1800 s "
          "(distributed.foreign_call_abort_s)"));
  EXPECT_THAT(trial.run(100).fatal, HasSubstr("in Dataset::get"));
  EXPECT_NEAR(trial.now(), 1801, 2);
}

TEST(Judge, DoesNotExcuseAStoppedRankForItsForeignCall) {
  Trial trial(2);
  trial.rank(1).foreign_calls = {"fsync"};
  trial.rank(1).state = ProcessState::kStopped;
  trial.wait_in(0, "exchange 'checkpoint saved'");
  EXPECT_THAT(trial.run(400).fatal, HasSubstr("rank 1 (host, 101) is stopped"));
  EXPECT_NEAR(trial.now(), 301, 2);
}

TEST(Judge, SaysThatARankWaitsForADisk) {
  Trial trial(2);
  trial.rank(1).state = ProcessState::kDiskWait;
  trial.wait_in(0, "all_reduce bucket 1", 812);
  EXPECT_THAT(trial.run(400).fatal, HasSubstr("is waiting for a disk or a file system"));
}

TEST(Judge, LeavesAStoppedRankAloneThatNobodyWaitsFor) {
  Trial trial(2);
  trial.rank(1).state = ProcessState::kStopped;
  EXPECT_EQ(trial.run_while_moving(1000, {0}).fatal, "");
}

TEST(Judge, FindsARankThatIsFrozenThoughTheKernelCallsItRunning) {
  Trial trial(2);
  trial.wait_in(0, "all_reduce bucket 1", 812);
  for (int i = 0; i < 302; ++i) {
    const std::uint64_t beat = trial.rank(1).beat;
    trial.look(1);
    trial.rank(1).beat = std::max<std::uint64_t>(beat, 1);
  }
  EXPECT_THAT(trial.run(2).fatal, HasSubstr("rank 1 (host, 101) is frozen"));
}

TEST(Judge, StartsAnewAfterItWasSuspendedItself) {
  Trial trial(2);
  trial.wait_in(0, "all_reduce bucket 1", 812);
  trial.run(290);
  trial.take_warnings();
  trial.look(100000);  // the whole job was suspended, its watches too
  EXPECT_EQ(trial.run(290).fatal, "");
  EXPECT_THAT(trial.run(20).fatal, HasSubstr("rank 1"));
}

TEST(Judge, NamesALostRankAtOnceAndEndsTheJobAfterAWhile) {
  Trial trial(3);
  trial.wait_in(0, "all_reduce bucket 2", 812);
  trial.look(1);
  trial.rank(1).state = ProcessState::kGone;
  trial.run(1);
  EXPECT_THAT(trial.take_warnings(),
              ElementsAre("rank 1 (host, 101) is gone, at step 812 in forward and backward "
                          "(dot_general); rank 0 waits for it in all_reduce bucket 2 at step 812"));
  trial.rank(2).state = ProcessState::kGone;  // a consequence
  EXPECT_THAT(trial.run(10).fatal, HasSubstr("rank 1 (host, 101) is gone"));
  EXPECT_THAT(trial.take_warnings(), IsEmpty());
  EXPECT_LT(trial.now(), 10);
}

TEST(Judge, LeavesARankAloneThatHasEndedWell) {
  Trial trial(2);
  trial.rank(1).state = ProcessState::kGone;
  trial.rank(1).exit_code = 0;
  EXPECT_EQ(trial.run_while_moving(1000, {0}).fatal, "");
  EXPECT_THAT(trial.take_warnings(), IsEmpty());
}

TEST(Judge, LeavesARankAloneThatWaitsForOneThatCompiles) {
  Trial trial(2);
  for (const int rank : {0, 1}) trial.rank(rank).host_lane = {Phase::kCompile, 0, ""};
  trial.rank(1).foreign_calls = {"waiting for another process that compiles"};
  EXPECT_EQ(trial.run_while_moving(5000, {0}).fatal, "");
  EXPECT_THAT(trial.take_warnings(), IsEmpty());
  trial.rank(0).host_lane = {Phase::kRead, 0, ""};  // now another job compiles
  trial.wait_in(0, "all_reduce bucket 0", 0);
  EXPECT_EQ(trial.run(1790).fatal, "");
  EXPECT_THAT(trial.run(20).fatal,
              HasSubstr("rank 1 (host, 101) makes no progress (in waiting for another process that "
                        "compiles), at step 0 in a compilation, for 1801 s"));
}

TEST(Judge, NamesARankThatIsStoppedWhereItHasLeft) {
  Trial trial(2);
  trial.rank(1).state = ProcessState::kStopped;
  trial.rank(1).exit_code = 0;
  trial.wait_in(0, "the end of all processes", 30);
  EXPECT_THAT(trial.run(1000).fatal, HasSubstr("rank 1 (host, 101) is stopped"));
}

TEST(Judge, WaitsOnItsWayOutForWhoStillWorksOnItsNode) {
  Trial trial(4);
  trial.rank(0).host_lane = {Phase::kExit, -1, ""};
  trial.wait_in(0, "the end of all processes");
  trial.rank(1).state = ProcessState::kGone;
  trial.rank(1).exit_code = 0;
  trial.rank(3).host = "other";  // whose ranks have left, too
  trial.rank(3).state = ProcessState::kUnknown;
  EXPECT_EQ(trial.run_while_moving(1000, {2}).fatal, "");
  EXPECT_THAT(trial.take_warnings(), IsEmpty());
  EXPECT_THAT(trial.run(1000).fatal, HasSubstr("rank 2 (host, 102) makes no progress"));
}

TEST(Judge, NamesARankThatLeftTooEarly) {
  Trial trial(2);
  trial.rank(1).state = ProcessState::kGone;
  trial.rank(1).exit_code = 3;
  trial.wait_in(0, "all_reduce bucket 2", 812);
  EXPECT_THAT(trial.run(1000).fatal, HasSubstr("rank 1 (host, 101) has left with code 3"));
}

TEST(Judge, EndsAJobInWhichAllWaitForEachOther) {
  Trial trial(2);
  trial.wait_in(0, "all_reduce bucket 2", 812);
  trial.wait_in(1, "all_reduce bucket 2", 812);
  EXPECT_EQ(trial.run(1000).fatal,
            "no rank has made progress for 301 s: ranks 0 1 wait for each other (messages are "
            "lost, or the "
            "network is cut) in all_reduce bucket 2 at step 812");
  EXPECT_THAT(trial.take_warnings(), SizeIs(1));
}

TEST(Judge, EndsAWaitForRanksThatCannotBeSeen) {
  Trial trial(1);
  trial.scene().unseen = {1, 2};
  trial.wait_in(0, "all_reduce bucket 2", 812);
  EXPECT_EQ(
      trial.run(1000).fatal,
      "no rank has made progress for 301 s: rank 0 waits for ranks 1 2, which cannot be seen from "
      "host, in all_reduce bucket 2 at step 812");
}

TEST(Judge, GivesMpiInitTheTimeOfAForeignCall) {
  Trial trial(2);
  for (const int rank : {0, 1}) {
    trial.rank(rank).host_lane = {Phase::kConnect, -1, ""};
    trial.rank(rank).foreign_calls = {"MPI_Init"};
    trial.wait_in(rank, "MPI_Init");
  }
  EXPECT_EQ(trial.run(1790).fatal, "");
  EXPECT_THAT(
      trial.take_warnings(),
      ElementsAre(HasSubstr("the job ends after 1800 s (distributed.foreign_call_abort_s)")));
  EXPECT_THAT(trial.run(100).fatal, HasSubstr("wait for each other"));
}

TEST(Judge, NamesTheRankThatStopsTheOthersInMpiInit) {
  Trial trial(3);
  for (const int rank : {0, 1, 2}) {
    trial.rank(rank).host_lane = {Phase::kConnect, -1, ""};
    trial.rank(rank).foreign_calls = {"MPI_Init"};
    trial.wait_in(rank, "MPI_Init");
  }
  trial.rank(1).state = ProcessState::kStopped;
  trial.rank(1).device_lane = {Phase::kIdle, -1, ""};
  EXPECT_EQ(trial.run(1000).fatal,
            "rank 1 (host, 101) is stopped, in MPI_Init, for 301 s; ranks 0 2 wait for it in "
            "MPI_Init");
}

TEST(Judge, DoesNotCountTheTimeInWhichNothingWasHeardOfARank) {
  Trial trial(2);
  trial.wait_in(0, "all_reduce bucket 2", 812);
  for (int i = 0; i < 1000; ++i) {
    trial.rank(1).age_s = i;
    EXPECT_EQ(trial.run(1).fatal, "");
  }
}

TEST(Judge, EndsAWaitForARankWhoseNodeIsNotHeardOf) {
  Trial trial(2);
  trial.wait_in(0, "all_reduce bucket 2", 812);
  trial.rank(1).state = ProcessState::kUnknown;
  trial.rank(1).age_s = 299;
  EXPECT_EQ(trial.run(1).fatal, "");
  trial.rank(1).age_s = 301;
  EXPECT_THAT(trial.run(1).fatal,
              HasSubstr("rank 1 (host, 101) is out of sight: its node sends no reports, "));
}

TEST(Judge, LeavesRanksToTheWatchThatHearsOfThem) {
  Trial trial(1);
  trial.scene().unseen = {1, 2};
  trial.scene().others_see_them = true;
  trial.wait_in(0, "all_reduce bucket 2", 812);
  EXPECT_EQ(trial.run(1000).fatal, "");
}

TEST(Judge, NamesTheStoppedRankThatAnotherWantsToCompile) {
  Trial trial(2);
  trial.rank(0).state = ProcessState::kStopped;
  trial.rank(0).host_lane = {Phase::kCompile, 0, ""};
  trial.rank(0).device_lane = {Phase::kIdle, -1, ""};
  trial.rank(1).host_lane = {Phase::kCompile, 0, ""};
  EXPECT_EQ(trial.run_while_moving(400, {1}).fatal, "");  // it compiles itself
  trial.rank(1).foreign_calls = {"waiting for another process that compiles"};
  EXPECT_EQ(trial.run(1000).fatal,
            "rank 0 (host, 100) is stopped, at step 0 in a compilation, for 400 s; rank 1 waits "
            "for it at step 0 in a compilation");
}

TEST(Judge, NamesTheRankOutOfSightThatAnotherWantsToCompile) {
  Trial trial(2);
  trial.rank(0).state = ProcessState::kUnknown;
  trial.rank(0).age_s = 301;
  trial.rank(1).host_lane = {Phase::kCompile, 0, ""};
  trial.rank(1).foreign_calls = {"waiting for another process that compiles"};
  EXPECT_THAT(trial.run(1).fatal,
              HasSubstr("rank 0 (host, 100) is out of sight: its node sends no reports, "));
}

TEST(Judge, NamesAllRanksThatAreStuck) {
  Trial trial(3);
  trial.wait_in(0, "all_reduce bucket 2", 812);
  trial.rank(1).state = ProcessState::kStopped;
  trial.rank(2).state = ProcessState::kTraced;
  const std::string fatal = trial.run(1000).fatal;
  EXPECT_THAT(fatal, HasSubstr("rank 1 (host, 101) is stopped"));
  EXPECT_THAT(fatal, HasSubstr("; also rank 2 (host, 102) is held by a debugger"));
}

}  // namespace
}  // namespace lockstep
