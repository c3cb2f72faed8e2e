#include "trainer/run/resume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/commit.h"
#include "checkpoint/folder.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/file_contents.h"
#include "tests/fixtures/temporary_folder.h"
#include "tests/ranks/on_ranks.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

class Resume : public testing::Test {
 protected:
  /// Saves the state of a step in the run's folder, and returns its path.
  std::string save(std::int64_t step, std::int64_t good = -1,
                   Confirmation confirmation = Confirmation::kConfirmed) const {
    CheckpointState state;
    state.trainer.step = step;
    state.trainer.good_step = good;
    state.trainer.confirmation = confirmation;
    state.model["w"] = HostTensor::scalar<float>(1);
    return save_checkpoint(run.checkpoints, state, Log::null()).path;
  }
  std::string path_of(std::int64_t step) const {
    return run.checkpoints + "/" + checkpoint_file_name(step);
  }
  /// The step that all of two ranks start from; -1: a new run.
  std::int64_t start_of(const std::string& from) const {
    Log log({.console = false, .file = folder / "log"});
    std::vector<std::int64_t> steps(2, -1);
    on_ranks(2, [&](Communicator& communicator) {
      const auto start = find_start(from, run, communicator, Activity(), log, of);
      if (start) steps[static_cast<std::size_t>(communicator.rank())] = start->trainer().step;
    });
    EXPECT_EQ(steps[0], steps[1]);
    return steps[0];
  }
  std::string logged() const { return contents_of(folder / "log"); }

  TemporaryFolder folder;
  RunFolder run = run_folder(folder / "run");
  SettingsOf of = SettingsOf::kConfig;
};

TEST_F(Resume, StartsANewRunOrTakesTheNewestCheckpointOrANamedOne) {
  EXPECT_EQ(start_of("auto"), -1) << "the folder does not exist";
  save(10);
  save(20);
  EXPECT_EQ(start_of("auto"), 20);
  EXPECT_EQ(start_of("none"), -1);
  EXPECT_EQ(start_of(path_of(10)), 10);
  EXPECT_EQ(start_of(run.path), 20);
}

TEST_F(Resume, PassesOverWhatCannotBeUsedUnlessNothingIsLeft) {
  save(10);
  std::filesystem::resize_file(save(20), 1000);
  EXPECT_EQ(start_of("auto"), 10);
  EXPECT_THAT(logged(), HasSubstr("skipped " + path_of(20) + ": "));
  std::filesystem::resize_file(path_of(10), 1000);
  EXPECT_THAT(error_of(ErrorKind::kCheckpoint, [&] { start_of("auto"); }),
              HasSubstr(run.checkpoints +
                        ": no checkpoint can be used (to start a new run, leave out --resume or "
                        "set checkpoint.resume=none):\n  " +
                        path_of(20)));
  of = SettingsOf::kProgram;
  EXPECT_THAT(error_of(ErrorKind::kCheckpoint, [&] { start_of("auto"); }),
              HasSubstr("(to start a new run, set TrainerOptions::checkpoint.resume: none):\n  "));
}

TEST_F(Resume, NamesOtherStatesInTheWordsOfTheCaller) {
  save(10);
  save(20, 10, Confirmation::kDoubtful);
  const std::string suspect = run.checkpoints + "/" + suspect_file_name(30);
  std::filesystem::copy_file(path_of(20), suspect);
  EXPECT_EQ(start_of("auto"), 20);
  EXPECT_THAT(logged(), HasSubstr("known to be good is that of --resume=" + path_of(10)));
  EXPECT_THAT(logged(), HasSubstr("set aside; --resume=" + suspect + " continues from it"));
  of = SettingsOf::kProgram;
  EXPECT_EQ(start_of("auto"), 20);
  const std::string option = "TrainerOptions::checkpoint.resume: ";
  EXPECT_THAT(logged(), HasSubstr("known to be good is that of " + option + path_of(10)));
  EXPECT_THAT(logged(), HasSubstr("set aside; " + option + suspect + " continues from it"));
}

TEST_F(Resume, LeavesLaterStatesOfItsOwnFolder) {
  save(10);
  save(20);
  leave_later_states(run, folder / "other/step-00000010.h5", 10, Log::null());
  EXPECT_TRUE(std::filesystem::exists(path_of(20)));
  leave_later_states(run, path_of(10), 10, Log::null());
  EXPECT_FALSE(std::filesystem::exists(path_of(20)));
  EXPECT_TRUE(std::filesystem::exists(run.checkpoints + "/" + suspect_file_name(20)));
}

}  // namespace
}  // namespace lockstep
