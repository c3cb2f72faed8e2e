#include "checkpoint/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/commit.h"
#include "checkpoint/restore.h"
#include "checkpoint/state_hash.h"
#include "tests/checkpoint/sample_state.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/file_contents.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using testing::sample_state;
using testing::write_bytes;

// A run with good checkpoints of steps 100 and 200, and an empty file for step 300.
class Commands : public ::testing::Test {
 protected:
  Commands() {
    for (const std::int64_t step : {100, 200}) {
      save_checkpoint(checkpoints_, sample_state(step), Log::null());
    }
    write_bytes(file(300), "");
  }

  std::string file(std::int64_t step) const {
    return fmt::format("{}/step-{:08}.h5", checkpoints_, step);
  }

  TemporaryFolder run_;
  std::string checkpoints_ = run_ / "checkpoints";
};

TEST_F(Commands, LsTellsStepBytesAndHealth) {
  const std::uintmax_t bytes = std::filesystem::file_size(file(100));
  const std::string expected = fmt::format(
      "      step           bytes  status\n"
      "       100  {0:>14}  ok\n"
      "       200  {0:>14}  ok\n"
      "       300               0  the file is empty\n",
      bytes);
  EXPECT_EQ(checkpoint_ls(run_.path()).text, expected);
  EXPECT_EQ(checkpoint_ls(checkpoints_).text, expected);
  EXPECT_EQ(checkpoint_ls(run_.path()).status, 0);
}

TEST_F(Commands, LsMarksSuspectStates) {
  save_suspect_checkpoint(checkpoints_, sample_state(250), Log::null());
  write_bytes(checkpoints_ + "/step-00000251.suspect.h5", "");
  EXPECT_THAT(checkpoint_ls(run_.path()).text, HasSubstr("300               0  the file is empty"));
  EXPECT_THAT(checkpoint_ls(run_.path()).text, HasSubstr("  suspect: ok\n"));
  EXPECT_THAT(checkpoint_ls(run_.path()).text,
              HasSubstr("251               0  suspect: the file is empty\n"));
}

TEST_F(Commands, LsTellsTheBestTheGoodAndTheDoubtful) {
  CheckpointState state = sample_state(400);
  state.trainer.best_metric_name = "eval/loss";
  state.trainer.early_stopping.best_step = 100;
  state.trainer.good_step = 200;
  state.trainer.confirmation = Confirmation::kDoubtful;
  save_checkpoint(checkpoints_, state, Log::null());
  const std::string text = checkpoint_ls(run_.path()).text;
  EXPECT_THAT(text, HasSubstr("  ok, the best: eval/loss 1.25\n"));
  EXPECT_THAT(text, HasSubstr("  ok, known to be good\n"));
  EXPECT_THAT(text, HasSubstr("  ok, in doubt\n"));
  std::filesystem::remove(file(100));
  EXPECT_THAT(checkpoint_ls(run_.path()).text,
              HasSubstr("\nthe best was step 100, which has no checkpoint: eval/loss 1.25\n"));
}

TEST_F(Commands, TheBestIsWhatTheNewestSaysItIs) {
  CheckpointState state = sample_state(400);
  state.trainer.early_stopping.best_step = 100;
  save_checkpoint(checkpoints_, state, Log::null());
  EXPECT_EQ(open_best_checkpoint(run_.path()).trainer().step, 100);
  std::filesystem::remove(file(100));
  EXPECT_THAT(usage_error([&] { open_best_checkpoint(run_.path()); }),
              HasSubstr("the best is step 100, with "));
  EXPECT_THAT(usage_error([&] { open_best_checkpoint(file(200)); }),
              HasSubstr("--best chooses among the checkpoints of a run, but "));
}

TEST_F(Commands, PruneKeepsTheNewestGoodOne) {
  CheckpointState state = sample_state(400);
  state.trainer.good_step = 100;
  save_checkpoint(checkpoints_, state, Log::null());
  EXPECT_EQ(checkpoint_prune(run_.path(), 1).text, "removed " + file(200) + "\nkept 3\n");
}

TEST_F(Commands, NothingElseKnowsSuspectStates) {
  save_suspect_checkpoint(checkpoints_, sample_state(900), Log::null());
  EXPECT_THAT(checkpoint_inspect(run_.path()).text, HasSubstr(file(200) + ": "));
  EXPECT_EQ(checkpoint_prune(run_.path(), 1).text, "removed " + file(100) + "\nkept 2\n");
  EXPECT_THAT(checkpoint_verify(run_.path()).text, ::testing::Not(HasSubstr("suspect")));
  const std::string suspect = checkpoints_ + "/step-00000900.suspect.h5";
  EXPECT_EQ(checkpoint_verify(suspect).text, suspect + ": ok\n");  // if it is named
}

TEST_F(Commands, LsOfAnEmptyFolder) {
  const TemporaryFolder empty;
  EXPECT_EQ(checkpoint_ls(empty.path()).text, "no checkpoints\n");
}

TEST_F(Commands, LsOfAFileIsRefused) {
  EXPECT_EQ(error_of(ErrorKind::kCheckpoint, [&] { checkpoint_ls(file(100)); }),
            file(100) + ": not a run or a folder of checkpoints");
}

TEST_F(Commands, InspectShowsTrainerTensorsAndConfig) {
  const CommandResult result = checkpoint_inspect(file(100));
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.text, HasSubstr(file(100) + ": "));
  EXPECT_THAT(result.text, HasSubstr("\ntrainer:\n  step: 100\n  epoch: 3\n"));
  EXPECT_THAT(result.text, HasSubstr("\n  schedule: cosine min_lr=0.0001 warmup_steps=100\n"));
  EXPECT_THAT(result.text, HasSubstr("\ntensors: 12\n  model/byte: u8[3]\n"));
  EXPECT_THAT(result.text, HasSubstr("\n  model/h.0.ln_1.weight: bf16[6]\n"));
  EXPECT_THAT(result.text, HasSubstr("\n  optimizer/exp_avg/h.0.ln_1.weight: f32[6]\n"));
  EXPECT_THAT(result.text, HasSubstr("\nconfig:\n  run:\n    name: café\n"));
}

TEST_F(Commands, ARunMeansItsNewestGoodCheckpoint) {
  EXPECT_THAT(checkpoint_inspect(run_.path()).text, HasSubstr(file(200) + ": "));
  EXPECT_EQ(checkpoint_hash(run_.path()).text, state_hash(sample_state(200)) + "\n");
  EXPECT_EQ(checkpoint_hash(file(100)).text, state_hash(sample_state(100)) + "\n");
}

TEST_F(Commands, HashAndInspectNameTheProcessors) {
  CheckpointState state = sample_state(400);
  state.trainer.instruction_set = "AVX-512";
  state.trainer.cpu_models = "A; B";
  save_checkpoint(checkpoints_, state, Log::null());
  EXPECT_EQ(checkpoint_hash(file(400)).note,
            "computed with AVX-512 on A; B; elsewhere the same run may have another hash\n");
  EXPECT_THAT(checkpoint_inspect(file(400)).text,
              HasSubstr("\n  instruction_set: AVX-512\n  cpu_models: A; B\n"));
}

TEST_F(Commands, ARunWithoutAGoodCheckpointNamesEachProblem) {
  write_bytes(file(100), "x");
  std::filesystem::remove(file(200));
  EXPECT_EQ(
      error_of(ErrorKind::kCheckpoint, [&] { checkpoint_hash(run_.path()); }),
      checkpoints_ + ": no checkpoint can be used:\n  " + file(300) + ": the file is empty\n  " +
          file(100) +
          ": not a lockstep checkpoint: the file does not begin with the lockstep magic bytes");
  const TemporaryFolder empty;
  EXPECT_EQ(error_of(ErrorKind::kCheckpoint, [&] { checkpoint_hash(empty.path()); }),
            empty.path() + ": the folder holds no checkpoints");
}

TEST_F(Commands, VerifyOfAFile) {
  EXPECT_EQ(checkpoint_verify(file(100)).text, file(100) + ": ok\n");
  EXPECT_EQ(checkpoint_verify(file(100)).status, 0);
  EXPECT_EQ(checkpoint_verify(file(300)).text, file(300) + ": the file is empty\n");
  EXPECT_EQ(checkpoint_verify(file(300)).status, 4);
  EXPECT_EQ(checkpoint_verify(file(7)).text, file(7) + ": No such file or directory\n");
  EXPECT_EQ(checkpoint_verify(file(7)).status, 4);
}

TEST_F(Commands, VerifyOfARunLooksAtEveryCheckpoint) {
  EXPECT_EQ(checkpoint_verify(run_.path()).text,
            file(100) + ": ok\n" + file(200) + ": ok\n" + file(300) + ": the file is empty\n");
  EXPECT_EQ(checkpoint_verify(run_.path()).status, 4);
  std::filesystem::remove(file(300));
  EXPECT_EQ(checkpoint_verify(run_.path()).status, 0);
}

TEST_F(Commands, PruneKeepsTheNewestAndTheBest) {
  save_checkpoint(checkpoints_, sample_state(1000), Log::null());  // the best, by sample_state
  save_checkpoint(checkpoints_, sample_state(1100), Log::null());
  save_checkpoint(checkpoints_, sample_state(1200), Log::null());
  const CommandResult result = checkpoint_prune(run_.path(), 1);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.text, "removed " + file(100) + "\nremoved " + file(200) + "\nremoved " +
                             file(1100) + "\nkept 3\n");  // 300 is no checkpoint to count
}

TEST_F(Commands, PruneRefusesToKeepNone) {
  EXPECT_EQ(usage_error([&] { checkpoint_prune(run_.path(), 0); }),
            "ckpt prune keeps at least 1 checkpoint, not 0");
}

TEST_F(Commands, PruneRefusesARunWithoutAGoodCheckpoint) {
  write_bytes(file(100), "x");
  write_bytes(file(200), "x");
  EXPECT_THROW(checkpoint_prune(run_.path(), 1), Error);
  EXPECT_TRUE(std::filesystem::exists(file(100)));
}

TEST_F(Commands, ADamagedNewestDoesNotCostTheGoodOne) {
  std::string bytes = contents_of(file(200));
  bytes.back() ^= 1;
  write_bytes(file(200), bytes);
  checkpoint_prune(run_.path(), 1);
  EXPECT_EQ(checkpoint_verify(file(100)).status, 0);
}

}  // namespace
}  // namespace lockstep
