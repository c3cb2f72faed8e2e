// The history of a run: one life for each job.
#include "trainer/run/run_history.h"

#include <gmock/gmock.h>

#include <fstream>

#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RunLife life_at(std::int64_t step) {
  return {.step = step,
          .ranks = 2,
          .hosts = {"a", "b"},
          .instruction_set = "AVX2",
          .processors = {"a \"quoted\" processor"},
          .version = "1.0",
          .build = "00ff"};
}

TEST(RunHistory, HasALifeForEachJob) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_run_history(folder.path()).empty());
  RunHistory killed;
  killed.begin(folder.path(), life_at(0), Log::null());
  RunHistory second;
  second.begin(folder.path(), life_at(40), Log::null());
  second.end("finished", 60);

  const std::vector<RunLife> lives = read_run_history(folder.path());
  ASSERT_EQ(lives.size(), 2);
  EXPECT_EQ(lives[0].ended, "") << "it left no end";
  EXPECT_EQ(lives[1].step, 40);
  EXPECT_EQ(lives[1].how, "finished");
  EXPECT_EQ(lives[1].last_step, 60);
  EXPECT_EQ(lives[1].ranks, 2);
  EXPECT_THAT(lives[1].hosts, ElementsAre("a", "b"));
  EXPECT_THAT(lives[1].processors, ElementsAre("a \"quoted\" processor"));
  EXPECT_EQ(lives[1].began.size(), std::string("2026-11-23T05:40:12Z").size());
}

TEST(RunHistory, KeepsTheStepAtWhichAJobFailed) {
  const TemporaryFolder folder;
  RunHistory history;
  history.begin(folder.path(), life_at(0), Log::null());
  history.end(kFailedJob, 7);
  history.fail("the loss is not finite");
  RunHistory early;
  early.begin(folder.path(), life_at(5), Log::null());
  early.fail("no memory");

  const std::vector<RunLife> lives = read_run_history(folder.path());
  ASSERT_EQ(lives.size(), 2);
  EXPECT_EQ(lives[0].how, kFailedJob);
  EXPECT_EQ(lives[0].last_step, 7);
  EXPECT_EQ(lives[0].error, "the loss is not finite");
  EXPECT_EQ(lives[1].last_step, 5) << "no step was made";
}

TEST(RunHistory, WithoutABeginWritesNothing) {
  RunHistory history;
  history.end("finished", 3);
  history.fail("an error");
}

TEST(RunHistory, RefusesAFileThatIsNone) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/history.json") << R"({"format": "lockstep history"})";
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { read_run_history(folder.path()); }),
              HasSubstr("history.json"));
  RunHistory history;
  history.begin(folder.path(), life_at(0), Log::null());
  EXPECT_EQ(read_run_history(folder.path()).size(), 1) << "a new one replaces it";
}

}  // namespace
}  // namespace lockstep
