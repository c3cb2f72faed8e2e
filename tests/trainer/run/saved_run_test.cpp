#include "trainer/run/saved_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

TEST(SavedRun, TakesFilesOfTheFolderOfARunOnly) {
  const TemporaryFolder folder;
  EXPECT_EQ(usage_error([&] { SavedRun(folder / "none").profiles(); }),
            (folder / "none") + ": there is no such run");
  const std::string file = folder.write("step.h5", "");
  EXPECT_EQ(usage_error([&] { SavedRun(file).cuts(); }),
            file + " is a file: RUN is the folder of a run");
  EXPECT_EQ(usage_error([&] { SavedRun(folder.path()).compilations(0); }),
            folder.path() + " is not a run's folder: it has neither config.yaml nor logs");
}

TEST(SavedRun, MayHaveMeasuredNothing) {
  const TemporaryFolder folder;
  folder.write("config.yaml", "");
  const SavedRun run(folder.path());
  EXPECT_THAT(run.metrics(), testing::IsEmpty());
  EXPECT_THAT(run.profiles(), testing::IsEmpty());
  EXPECT_THAT(run.cuts(), testing::IsEmpty());
  EXPECT_EQ(run.compilations(0).misses(), 0);
  EXPECT_EQ(usage_error([&] { run.trace_file(); }),
            folder.path() + " has no trace: train it with profile.trace.steps=[FIRST,LAST]");
  folder.write("trace.perfetto-trace", "");
  EXPECT_EQ(run.trace_file(), folder / "trace.perfetto-trace");
  EXPECT_EQ(SavedRun(folder / "other.trace").trace_file(), folder / "other.trace");
}

TEST(SavedRun, HasTheMetricsOfItsFolder) {
  const TemporaryFolder folder;
  folder.write("config.yaml", "");
  folder.write("metrics.jsonl", R"({"step":3,"epoch":0.5,"wall_time":1.0,"train/loss":2.5})"
                                "\n");
  const auto metrics = SavedRun(folder.path()).metrics();
  ASSERT_THAT(metrics, testing::SizeIs(1));
  EXPECT_EQ(metrics[0].step, 3);
  EXPECT_EQ(metrics[0].train.at("loss"), 2.5);
}

TEST(SavedRun, HasTheConfigOfItsFolderOrTheDefaults) {
  const TemporaryFolder folder;
  const SavedRun run(folder.path());
  const auto steps = [&] { return run.config_file(built_in()).length.max_steps; };
  EXPECT_EQ(steps(), -1) << "there is no file";
  folder.write("config.yaml",
               "model: {name: mlp, input_size: 4, hidden_sizes: [4], n_classes: 2}\n"
               "data: {type: synthetic}\n"
               "training: {max_steps: 3, global_batch_size: 2, micro_batch_size: 1}\n"
               "optimizer: {learning_rate: 0.1}\n");
  EXPECT_EQ(steps(), 3);
  folder.write("config.yaml", "trainin: {}\n");
  EXPECT_EQ(steps(), -1);
}

TEST(SavedRun, NamesTheFolderWithoutCheckpoints) {
  const TemporaryFolder folder;
  const SavedRun run(folder.path());
  EXPECT_THAT(error_of(ErrorKind::kCheckpoint, [&] { run.open_checkpoint(); }),
              testing::HasSubstr(folder.path()));
  EXPECT_THAT(error_of([&] { run.open_checkpoint(SavedState::kBest); }),
              testing::HasSubstr(folder.path()));
}

}  // namespace
}  // namespace lockstep
