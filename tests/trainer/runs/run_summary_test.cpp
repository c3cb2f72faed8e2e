// What many runs' folders say at a glance, damaged ones included.
#include "trainer/runs/run_summary.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/fixtures/error_of.h"
#include "tests/trainer/runs/run_folders.h"
#include "trainer/run/run_lock.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<WatchedMetric> kLosses{{"train/loss"}, {"eval/loss"}, {"eval/accuracy", true}};

TEST(RunSummary, SaysWhatARunHasReached) {
  const TemporaryFolder folder;
  const RunSummary run = summarize_run(make_run(folder, "a"), kLosses);
  EXPECT_EQ(run.name, "a");
  EXPECT_EQ(run.model, "mlp");
  EXPECT_EQ(run.state, RunState::kEnded);
  EXPECT_EQ(run.why, "");
  EXPECT_EQ(run.step, 6) << "of its history: the last step was not logged";
  EXPECT_EQ(run.metrics[0].last, 6.0);
  EXPECT_EQ(run.metrics[0].last_step, 5);
  EXPECT_EQ(run.metrics[0].best, 1.5);
  EXPECT_EQ(run.metrics[0].best_step, 4);
  EXPECT_EQ(run.metrics[1].last, 7.5);
  EXPECT_EQ(run.metrics[1].last_step, 3);
  EXPECT_EQ(run.metrics[2].last, std::nullopt);
  EXPECT_EQ(run.wall_seconds, 100);
  EXPECT_EQ(run.ended, "2026-11-23T05:41:40Z");
}

TEST(RunSummary, TakesTheLargestOfAMetricThatRises) {
  const TemporaryFolder folder;
  const std::vector<WatchedMetric> rises{{"train/loss", true}};
  EXPECT_EQ(summarize_run(make_run(folder, "a"), rises).metrics[0].best, 6.0);
}

TEST(RunSummary, PassesOverANullButSaysIt) {
  const TemporaryFolder folder;
  make_run(folder, "a");
  folder.write("a/metrics.jsonl",
               "{\"step\":1,\"epoch\":0,\"wall_time\":1,\"train/loss\":2.5}\n"
               "{\"step\":2,\"epoch\":0,\"wall_time\":1,\"train/loss\":null}\n");
  const RunSummary run = summarize_run(folder / "a", kLosses);
  EXPECT_TRUE(std::isnan(run.metrics[0].last.value_or(0)));
  EXPECT_EQ(run.metrics[0].best, 2.5);
}

TEST(RunSummary, KnowsARunInTraining) {
  const TemporaryFolder folder;
  const std::string run = make_run(folder, "a");
  {
    const RunLock lock(run, SettingsOf::kConfig);
    EXPECT_EQ(summarize_run(run, kLosses).state, RunState::kTraining);
  }
  EXPECT_EQ(summarize_run(run, kLosses).state, RunState::kEnded);
}

TEST(RunSummary, TellsHowTheLastJobEnded) {
  const TemporaryFolder folder;
  const auto ended = [&](const std::string& how) {
    make_run(folder, "a");
    const std::string text = R"({"format": "lockstep history", "version": 1, "lives": [
      {"began": "2026-11-23T05:40:00Z", "step": 0, "ranks": 1, "hosts": [], "threads": 1,
       "instruction_set": "", "processors": [], "lockstep": "1", "build": "0")" +
                             how + "}]}";
    folder.write("a/history.json", text);
    return summarize_run(folder / "a", kLosses);
  };
  const std::string end = R"(, "ended": "2026-11-23T05:41:40Z", "last_step": 2, "how": )";
  EXPECT_EQ(ended("").state, RunState::kUnfinished) << "it was killed";
  EXPECT_EQ(ended(end + "\"early stopping\"").state, RunState::kEndedEarly);
  EXPECT_EQ(ended(end + "\"preempted\"").state, RunState::kPreempted);
  const RunSummary failed = ended(end + R"("failed", "error": "no room\nmore")");
  EXPECT_EQ(failed.state, RunState::kFailed);
  EXPECT_EQ(failed.why, "no room");
}

TEST(RunSummary, NamesWhatIsDamaged) {
  const TemporaryFolder folder;
  const auto why = [&](const std::string& file, const std::string& text) {
    fs::remove_all(folder / "a");
    make_run(folder, "a");
    folder.write("a/" + file, text);
    const RunSummary run = summarize_run(folder / "a", kLosses);
    EXPECT_EQ(run.state, RunState::kDamaged) << file << ": " << text;
    return run.why;
  };
  const std::string record = "{\"step\":1,\"epoch\":0,\"wall_time\":1}\n";
  EXPECT_EQ(why("metrics.jsonl", record + "{\"step\":2,\"ep\n" + record),
            "metrics.jsonl:2: is no record of a step");
  EXPECT_EQ(why("metrics.jsonl", record + "{\"step\":2,\"ep"),
            "metrics.jsonl: its last line is cut off");
  EXPECT_THAT(why("history.json", "{"), HasSubstr("history.json"));
  EXPECT_THAT(why("config.yaml", "a: b"), HasSubstr("config.yaml"));
}

TEST(RunSummary, NeverWaitsForAPipe) {
  const TemporaryFolder folder;
  for (const char* name : {"config.yaml", "metrics.jsonl", "history.json"}) {
    fs::remove_all(folder / "a");
    make_run(folder, "a");
    fs::remove(folder / ("a/" + std::string(name)));
    ASSERT_EQ(mkfifo((folder / ("a/" + std::string(name))).c_str(), 0600), 0);
    const RunSummary run = summarize_run(folder / "a", kLosses);
    EXPECT_EQ(run.state, RunState::kDamaged);
    EXPECT_THAT(run.why, HasSubstr(name));
  }
}

TEST(RunSummary, SaysThatThereIsNoConfig) {
  const TemporaryFolder folder;
  make_run(folder, "a");
  fs::remove(folder / "a/config.yaml");
  EXPECT_EQ(summarize_run(folder / "a", kLosses).why, "it has no config.yaml");
}

TEST(FindRuns, TellsRunsFromOtherFolders) {
  const TemporaryFolder folder;
  make_run(folder, "b");
  make_run(folder, "a");
  make_run(folder, "gone.removing");
  fs::create_directories(folder / "data");
  fs::create_directories(folder / ".hidden");
  folder.write("file", "");
  fs::create_symlink(folder / "nowhere", folder / "dangling");
  const FoundRuns found = find_runs(folder.path(), kLosses);
  ASSERT_EQ(found.runs.size(), 2);
  EXPECT_EQ(found.runs[0].name, "a");
  EXPECT_EQ(found.runs[1].name, "b");
  EXPECT_THAT(found.others, ElementsAre("data", "gone.removing"));
}

TEST(FindRuns, RefusesARunAndAFolderThatIsNotThere) {
  const TemporaryFolder folder;
  const std::string run = make_run(folder, "a");
  EXPECT_EQ(usage_error([&] { find_runs(run, kLosses); }),
            run + " is a run itself: name the folder that holds it");
  EXPECT_THAT(usage_error([&] { find_runs(folder / "x", kLosses); }),
              HasSubstr("there is no such folder"));
}

}  // namespace
}  // namespace lockstep
