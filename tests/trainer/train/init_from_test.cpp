// A program's run begins with the weights of another run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/fixtures/error_of.h"
#include "tests/trainer/train/user_program.h"
#include "trainer/optimizers/adamw.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct InitFrom : UserProgram {};

std::vector<float> first_weights(const Module& module) {
  const HostTensor host = module.parameters().all()[0].value.to_host();
  const auto values = host.as<const float>();
  return {values.begin(), values.end()};
}

TEST_F(InitFrom, BeginsWithTheWeightsOfAnotherRun) {
  const auto train = [&](TrainerOptions options, std::int64_t steps) {
    Session session(ProcessCall{words, settings, watch}, {});
    Net net;
    Trainer trainer(session, net, AdamW{.learning_rate = 1e-2}, std::move(options));
    const std::vector<float> first = first_weights(net);
    const DataLoader data(session, points(64), {.global_batch_size = 16, .micro_batch_size = 4});
    for (const Batch& batch : trainer.steps(data, steps)) trainer.step(batch, net);
    EXPECT_EQ(trainer.step_number(), steps);
    const std::vector<float> last = first_weights(net);
    session.finish();
    return std::pair(first, last);
  };
  const auto drawn = train({.run = folder / "source"}, 5);
  const auto begun = train({.run = folder / "next", .init_from = folder / "source"}, 2);
  EXPECT_NE(drawn.first, drawn.second);
  EXPECT_EQ(begun.first, drawn.second);
  // A resumed run has its own values, also if the source is gone.
  std::filesystem::remove_all(folder / "source");
  const auto resumed = train(
      {.run = folder / "next", .init_from = folder / "source", .checkpoint = {.resume = "auto"}},
      3);
  EXPECT_EQ(resumed.first, begun.second);
}

TEST_F(InitFrom, TakesOfARunWhatFitsOnlyIfItIsNotStrict) {
  struct Wider : Net {
    Linear head{*this, "head", 1, 2};
  };
  const auto begin = [&](auto& net, TrainerOptions options, bool save = false) {
    Session session(ProcessCall{words, settings, watch}, {});
    Trainer trainer(session, net, AdamW{}, std::move(options));
    std::vector<float> first = first_weights(net);
    if (save) trainer.save();
    session.finish();
    return first;
  };
  Net net;
  const auto source = begin(net, {.run = folder / "source", .seed = 5}, true);
  Wider refused;
  EXPECT_THAT(error_of([&] { begin(refused, {.init_from = folder / "source"}); }),
              AllOf(HasSubstr("TrainerOptions::strict = false"),
                    HasSubstr("missing: 'head.weight' f32[2,1]")));
  Wider wider;
  EXPECT_EQ(begin(wider, {.init_from = folder / "source", .strict = false}), source);
}

}  // namespace
}  // namespace lockstep
