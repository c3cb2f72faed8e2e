// The points of a sweep, and what is refused before anything starts.
#include "trainer/sweep/plan.h"

#include <gmock/gmock.h>

#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"
#include "trainer/registry/registry.h"
#include "trainer/sweep/journal.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kSweptMlp =
    "run: {dir: runs}\n"
    "model: {name: mlp, input_size: 4, hidden_sizes: [8]}\n"
    "data: {type: synthetic, num_samples: 16}\n"
    "training: {max_steps: 90, global_batch_size: 4, micro_batch_size: 2}\n"
    "optimizer: {name: adamw, learning_rate: 0.1}\n"
    "eval: {interval: 10}\n";

class PlanSweep : public testing::Test {
 protected:
  SweepRequest request(std::vector<std::string> words) {
    return {.config = folder_.write("small.yaml", kSweptMlp),
            .words = std::move(words),
            .metric = "eval/loss"};
  }
  SweepPlan plan(const SweepRequest& asked) { return plan_sweep(asked, built_in()); }
  std::string refusal(const SweepRequest& asked) {
    return usage_error([&] { plan(asked); });
  }

  TemporaryFolder folder_;
};

TEST_F(PlanSweep, HasAllCombinationsByName) {
  const SweepPlan out = plan(
      request({"optimizer.learning_rate=0.1,0.2", "run.seed=7", "training.global_batch_size=4,8"}));
  EXPECT_EQ(out.folder, "runs/small-sweep");
  EXPECT_THAT(out.keys, ElementsAre("optimizer.learning_rate", "training.global_batch_size"));
  ASSERT_THAT(out.points, SizeIs(4));
  EXPECT_EQ(out.points[1].name, "02-learning_rate=0.1-global_batch_size=8");
  EXPECT_THAT(out.points[1].overrides, ElementsAre("optimizer.learning_rate=0.1", "run.seed=7",
                                                   "training.global_batch_size=8"));
  EXPECT_THAT(out.points[1].shown, ElementsAre("0.1", "8"));
  EXPECT_THAT(out.rungs, SizeIs(1));
  EXPECT_FALSE(out.larger_is_better);
}

TEST_F(PlanSweep, NamesAPointByValuesThatAreNoNamesOfFiles) {
  const SweepPlan out = plan(request({"model.hidden_sizes=[8],[8, 4]", "run.seed=1"}));
  EXPECT_EQ(out.points[0].name, "01-hidden_sizes=8");
  EXPECT_EQ(out.points[1].name, "02-hidden_sizes=8,4");
}

TEST_F(PlanSweep, DrawsTheSamePointsForASeed) {
  SweepRequest asked = request({"optimizer.learning_rate=log:1e-4..1", "run.seed=1,2"});
  asked.random = 5;
  const auto names = [&] {
    std::vector<std::string> out;
    for (const PlannedPoint& point : plan(asked).points) out.push_back(point.name);
    return out;
  };
  const std::vector<std::string> first = names();
  EXPECT_THAT(first, SizeIs(5));
  EXPECT_EQ(names(), first);
  asked.seed = 1;
  EXPECT_NE(names(), first);
}

TEST_F(PlanSweep, ListsTheProblemsOfAllPointsOnce) {
  const std::string problems =
      refusal(request({"optimizer.learning_rate=0.1,-1", "training.global_batch_size=4,8"}));
  EXPECT_THAT(problems, HasSubstr("optimizer.learning_rate=-1"));
  EXPECT_EQ(problems.find("learning_rate=-1"), problems.rfind("learning_rate=-1")) << problems;
  EXPECT_THAT(refusal(request({"optimizer.learning_rat=1,2"})),
              HasSubstr("did you mean 'learning_rate'"));
}

TEST_F(PlanSweep, RefusesEqualPoints) {
  EXPECT_THAT(refusal(request({"optimizer.learning_rate=0.1,1e-1"})),
              HasSubstr("01-learning_rate=0.1 and 02-learning_rate=1e-1 are the same point"));
  SweepRequest asked = request({"run.seed=1,2"});
  asked.random = 3;
  EXPECT_THAT(refusal(asked), HasSubstr("after 2 points 100 draws gave none that is new"));
}

TEST_F(PlanSweep, RefusesWhatTheSweepSetsItself) {
  EXPECT_THAT(refusal(request({"run.name=a,b"})), HasSubstr("the sweep sets 'run.name' itself"));
  EXPECT_THAT(refusal(request({"run.dir=a,b"})), HasSubstr("the sweep sets 'run.dir' itself"));
  EXPECT_EQ(plan(request({"run.dir=a", "run.seed=1,2"})).folder, "a/small-sweep");
  EXPECT_THAT(refusal(request({"run.seed=1", "run.seed=2,3"})), HasSubstr("is given twice"));
  EXPECT_THAT(refusal(request({"run.seed=1"})), HasSubstr("no key has several values"));
  EXPECT_THAT(refusal(request({"optimizer.learning_rate=log:1e-3..1"})),
              HasSubstr("the range has no count"));
}

TEST_F(PlanSweep, RefusesAMetricThatNoEvaluationGives) {
  EXPECT_THAT(refusal(request({"run.seed=1,2", "eval.interval=0"})),
              HasSubstr("makes no evaluations; set eval.interval"));
}

TEST_F(PlanSweep, RefusesAFirstPointInHalvingAsAnyOther) {
  SweepRequest asked = request({"optimizer.learning_rate=-1,1e-3,1e-2"});
  asked.halving = 3;
  EXPECT_THAT(refusal(asked), HasSubstr("optimizer.learning_rate"));
}

TEST_F(PlanSweep, KeepsTheScheduleOfTheWholeRunOverRungs) {
  SweepRequest asked = request({"optimizer.learning_rate=log:1e-4..1:9", "scheduler.name=cosine"});
  asked.halving = 3;
  const SweepPlan out = plan(asked);
  EXPECT_THAT(out.points[0].overrides, testing::Contains("scheduler.decay_steps=90"));
  ASSERT_THAT(out.rungs, SizeIs(3));
  EXPECT_EQ(out.rungs[0].steps, 10);
  EXPECT_EQ(out.rungs[0].kept, 3);
  EXPECT_EQ(out.rungs[1].steps, 30);
  EXPECT_EQ(out.rungs[1].kept, 1);
  EXPECT_EQ(out.rungs[2].steps, 90);
  asked.words.push_back("checkpoint.save_interval=-1");
  EXPECT_THAT(refusal(asked), HasSubstr("without checkpoints"));
}

TEST(HalvingRungs, LeaveOutThoseWithoutSteps) {
  const std::vector<Rung> rungs = halving_rungs(27, 3, 5);  // 5/27, 5/9, 5/3, 5
  ASSERT_THAT(rungs, SizeIs(3));
  EXPECT_EQ(rungs[0].steps, 1);
  EXPECT_EQ(rungs[0].kept, 3);
  EXPECT_EQ(rungs[1].steps, 2);
  EXPECT_EQ(rungs[1].kept, 1);
  EXPECT_EQ(rungs[2].steps, 5);
}

TEST_F(PlanSweep, HasAJournalThatReadsBack) {
  const SweepRequest asked = request({"run.seed=1,2"});
  SweepJournal journal = new_journal(asked, plan(asked));
  journal.points[1].state = PointState::kFailed;
  journal.points[1].code = 5;
  journal.points[1].error = "a\nb";
  journal.points[0].state = PointState::kDone;
  journal.points[0].best = 0.1;
  journal.points[0].step = 90;
  EXPECT_FALSE(read_journal(folder_.path()).has_value());
  write_journal(folder_.path(), journal);
  const auto back = read_journal(folder_.path());
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->request, journal.request);
  EXPECT_EQ(back->points[0].state, PointState::kDone);
  EXPECT_EQ(back->points[0].best, 0.1);
  EXPECT_EQ(back->points[0].last, std::nullopt);
  EXPECT_EQ(back->points[0].step, 90);
  EXPECT_EQ(back->points[1].code, 5);
  EXPECT_EQ(back->points[1].error, "a\nb");
  folder_.write("sweep.json", "{}");
  EXPECT_THAT(usage_error([&] { read_journal(folder_.path()); }),
              HasSubstr("is no journal of a sweep"));
}

}  // namespace
}  // namespace lockstep
