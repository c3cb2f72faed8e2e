// Programs of users, and the folders of their runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/fixtures/error_of.h"
#include "tests/trainer/train/user_program.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/optimizers/sgd.h"
#include "trainer/run/prepare_folder.h"
#include "trainer/train/trainer.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

struct ProgramRun : UserProgram {};

TEST_F(ProgramRun, ARunThatAppearedMeanwhileIsNotMovedAside) {
  Session session(ProcessCall{words, settings, watch}, {});
  const RunFolder run = lockstep::run_folder(run_folder());
  std::filesystem::create_directories(run.checkpoints);
  std::ofstream(run.checkpoints + "/step-00000004.h5") << "of somebody else";
  RankRuntime& runtime = session.runtime();
  const auto prepared = [&](EarlierRun earlier, SettingsOf of = SettingsOf::kProgram) {
    return error_of([&] {
      (void)prepare_folder({run, "", earlier, of}, runtime.communicator(), runtime.activity(),
                           runtime.log());
    });
  };
  EXPECT_THAT(prepared(EarlierRun::kIsRefused),
              HasSubstr("start again to resume from them, or choose another TrainerOptions::run"));
  EXPECT_THAT(prepared(EarlierRun::kIsRefused, SettingsOf::kConfig),
              HasSubstr("choose another run.name"));
  EXPECT_TRUE(std::filesystem::exists(run.checkpoints + "/step-00000004.h5"));
  EXPECT_EQ(prepared(EarlierRun::kMovesAside), "no error");
  EXPECT_FALSE(std::filesystem::exists(run.checkpoints + "/step-00000004.h5"));
  EXPECT_TRUE(std::filesystem::exists(run.path + ".1/checkpoints/step-00000004.h5"));
  session.finish();
}

TEST_F(ProgramRun, ASaveThatBlewUpSpeaksOfTheProgramsOwnSettings) {
  Session session(ProcessCall{words, settings, watch}, {});
  Net net;
  const DataLoader data(session, points(8), {.global_batch_size = 8, .micro_batch_size = 8});
  Trainer trainer(session, net, Sgd{.learning_rate = 1e30},
                  {.run = run_folder(),
                   .training = {.on_nonfinite = OnNonfinite::kSkip, .max_skipped_steps = 0},
                   .checkpoint = {.save_interval = 2}});
  const std::string error = error_of(ErrorKind::kNonFinite, [&] {
    for (const Batch& batch : trainer.steps(data, 4)) trainer.step(batch, net);
  });
  EXPECT_THAT(error, HasSubstr("is not a checkpoint; earlier checkpoints are intact. Lower the "
                               "optimizer's learning_rate or set TrainerOptions::training."
                               "gradient_clip_norm, and resume"));
  EXPECT_THAT(error, HasSubstr("; step 0 is the newest state that is known to be good, and "
                               "TrainerOptions::checkpoint.resume: auto continues from it"));
  session.finish();
}

TEST_F(ProgramRun, ACheckpointOfAnotherModelIsRefused) {
  {
    Session session(ProcessCall{words, settings, watch}, {});
    Net net;
    Trainer trainer(session, net, Sgd{}, {.run = run_folder()});
    trainer.save();
    session.finish();
  }
  struct Other : Net {
    Linear more{*this, "more", 1, 1};
  };
  Session session(ProcessCall{words, settings, watch}, {});
  Other other;
  EXPECT_THAT(error_of([&] {
                Trainer(session, other, Sgd{},
                        {.run = run_folder(), .checkpoint = {.resume = "auto"}});
              }),
              HasSubstr("the checkpoint has no 'more.weight' in 'model'"));
  session.finish();
}

}  // namespace
}  // namespace lockstep
