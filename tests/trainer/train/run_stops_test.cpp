#include "trainer/train/run_stops.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

class Stops : public testing::Test {
 protected:
  /// An evaluation that is no better than the one before it.
  void evaluate(std::int64_t step) {
    stops.early_stopping().add(step, {.metrics = {{"loss", 1}}, .names = {"loss"}});
  }

  Watch watch;
  const RunSpec spec{.options = {.early_stopping = {.patience = 1, .mode = BetterMetric::kMin}}};
  TrainerState progress;
  RunStops stops{watch, spec, progress};
};

TEST_F(Stops, AfterTheStepsThatWereAskedFor) {
  stops.begin(3);
  EXPECT_EQ(stops.reason(), RunEnd::kRunning);
  EXPECT_FALSE(stops.ends_at(2));
  EXPECT_TRUE(stops.ends_at(3));
  stops.end(true);
  EXPECT_EQ(stops.reason(), RunEnd::kFinished);
  stops.begin(5);
  EXPECT_EQ(stops.reason(), RunEnd::kRunning) << "more steps may be asked for";
  EXPECT_FALSE(stops.ends_at(3));
}

TEST_F(Stops, ByEarlyStopping) {
  stops.begin(3);
  evaluate(1);
  EXPECT_FALSE(stops.ends_at(1)) << "the first is the best so far";
  evaluate(2);
  EXPECT_TRUE(stops.ends_at(2));
  stops.end(true);
  EXPECT_EQ(stops.reason(), RunEnd::kEarlyStopping);
}

TEST_F(Stops, WhenAllRanksAgreeThatOneWasAskedTo) {
  for (const bool saved : {true, false}) {
    RunStops asked(watch, spec, progress);
    asked.begin(3);
    EXPECT_FALSE(asked.ends_at(1));
    asked.agree();
    EXPECT_TRUE(asked.agreed());
    EXPECT_TRUE(asked.ends_at(1));
    asked.end(saved);
    EXPECT_EQ(asked.reason(), saved ? RunEnd::kPreempted : RunEnd::kUnsaved);
  }
}

}  // namespace
}  // namespace lockstep
