// Programs that read values: which reads are reported, and which are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/engine/engine.h"
#include "core/observe/cuts.h"
#include "tests/fixtures/error_of.h"
#include "tests/trainer/train/user_program.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/optimizers/sgd.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

struct Reads : UserProgram {};

TEST_F(Reads, TellsWhichValuesWereReadWithinAStepAndWhichOnesInAHurry) {
  int line = 0;
  {
    Session session(ProcessCall{words, settings, watch}, {});
    Net net;
    Trainer trainer(session, net, Sgd{}, {.run = run_folder()});
    const DataLoader data(session, points(100), {.global_batch_size = 32, .micro_batch_size = 32});
    for (const Batch& batch : trainer.steps(data, 8)) {
      line = __LINE__ + 1;
      sum(batch["x"]).item();
      session.print("loss {}", trainer.step(batch, net).loss());
      trainer.evaluate(data, net);
    }
    session.finish();
    const Cuts& cuts = session.runtime().engine().cuts();
    EXPECT_EQ(cuts.graph_breaks(), 8);
    for (const Cuts::Row& row : cuts.rows())
      if (row.reason == "value read") {
        EXPECT_EQ(row.line, fmt::format("reads_test.cpp:{}", line));
      }
  }
  std::ifstream file(run_folder() + "/cuts.json");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(text, testing::AllOf(HasSubstr(fmt::format("\"reads_test.cpp:{}\"", line)),
                                   HasSubstr("\"graph_break\": true")));
}

TEST_F(Reads, MayBeForbiddenToReadWithinAStep) {
  words.emplace_back("profile.forbid_reads=true");
  Session session(ProcessCall{words, settings, watch}, {});
  Net net;
  Trainer trainer(session, net, Sgd{});
  const DataLoader data(session, points(100), {.global_batch_size = 32, .micro_batch_size = 32});
  for (const Batch& batch : trainer.steps(data, 4)) {
    const int line = __LINE__ + 1;
    const std::string error = error_of([&] { batch["x"].to_host(); });
    EXPECT_THAT(error, testing::AllOf(HasSubstr(fmt::format("reads_test.cpp:{}", line)),
                                      HasSubstr("batch.x"), HasSubstr("profile.forbid_reads")));
    const StepResult step = trainer.step(batch, net);
    EXPECT_TRUE(std::isfinite(step.loss().value())) << "after the step it may be read";
  }
  session.finish();
}

}  // namespace
}  // namespace lockstep
