// What the options of a program make of its updates: rates, groups, parameters that are not
// trained, averages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/restore.h"
#include "tests/fixtures/error_of.h"
#include "tests/trainer/train/user_program.h"
#include "trainer/optimizers/sgd.h"
#include "trainer/telemetry/metrics_file.h"

namespace lockstep {
namespace {

struct UpdatedProgram : UserProgram {};

std::vector<float> floats_in(const HostTensor& host) {
  const auto values = host.as<const float>();
  return {values.begin(), values.end()};
}

std::vector<float> floats_of(const Tensor& tensor) {
  return floats_in(tensor.to_host());
}

/// The rate of each step is that of the program, also after a resume, and is logged.
TEST_F(UpdatedProgram, TrainsWithItsOwnLearningRates) {
  const auto rate = [](std::int64_t step) { return 0.5 / static_cast<double>(step + 1); };
  const auto train = [&](const std::string& run, std::int64_t steps) {
    Session session(ProcessCall{words, settings, watch}, {});
    Net net;
    Trainer trainer(session, net, Sgd{.learning_rate = 1, .weight_decay = 0},
                    {.run = folder / run,
                     .learning_rate = rate,
                     .checkpoint = {.resume = "auto"},
                     .logging = {.interval = 1, .tensorboard = false}});
    const DataLoader data(session, points(64), {.global_batch_size = 16, .micro_batch_size = 16});
    for (const Batch& batch : trainer.steps(data, steps)) trainer.step(batch, net);
    session.finish();
    return floats_of(net.parameters().all()[2].value);
  };
  const std::vector<float> whole = train("whole", 4);
  train("parts", 2);
  EXPECT_EQ(train("parts", 4), whole);
  std::vector<double> logged;
  for (const TelemetryRecord& record : read_metrics(folder / "parts/metrics.jsonl"))
    logged.push_back(record.learning_rate.value_or(-1));
  EXPECT_THAT(logged, testing::ElementsAre(0.5, 0.25, 0.5 / 3, 0.125));
}

TEST_F(UpdatedProgram, RefusesARateThatIsNone) {
  Session session(ProcessCall{words, settings, watch}, {});
  Net net;
  Trainer trainer(session, net, Sgd{},
                  {.learning_rate = [](std::int64_t step) { return step == 0 ? 0.1 : -1; }});
  const DataLoader data(session, points(32), {.global_batch_size = 16, .micro_batch_size = 16});
  EXPECT_EQ(error_of([&] {
              for (const Batch& batch : trainer.steps(data, 2)) trainer.step(batch, net);
            }),
            "2: TrainerOptions::learning_rate gives -1 for step 1: a rate is a number >= 0");
  session.finish();
}

TEST_F(UpdatedProgram, GroupsParametersByPatternsOfTheirNames) {
  Session session(ProcessCall{words, settings, watch}, {});
  Net net;
  net.set_group("biases", {"*.bias"});
  net.set_group("first layer", {"in.*"});
  std::vector<std::string> groups;
  for (const Parameter& parameter : net.parameters().all()) groups.push_back(parameter.group);
  EXPECT_THAT(groups, testing::ElementsAre("first layer", "biases", "", "biases"));
  EXPECT_EQ(error_of([&] { net.set_group("none", {"on.*"}); }),
            "2: Module::set_group(): no parameter of the model matches 'on.*'; the nearest are "
            "'in.weight', 'in.bias' and 'out.weight'");
  const Trainer trainer(session, net, Sgd{}, {.groups = {{"biases", Sgd{.weight_decay = 0}}}});
  session.finish();
}

/// What was frozen is trained from its first step on as in a run that begins.
TEST_F(UpdatedProgram, TrainsAfterAResumeWhatWasFrozenBefore) {
  const auto train = [&](std::int64_t steps, bool frozen) {
    Session session(ProcessCall{words, settings, watch}, {});
    Net net;
    net.in.set_trainable(!frozen);
    Trainer trainer(session, net, Sgd{.learning_rate = 0.125, .momentum = 0.5, .weight_decay = 0},
                    {.run = run_folder(), .checkpoint = {.resume = "auto", .save_interval = 1}});
    const std::vector<float> before = floats_of(net.parameters().all()[0].value);
    const DataLoader data(session, points(16), {.global_batch_size = 16, .micro_batch_size = 16});
    for (const Batch& batch : trainer.steps(data, steps)) trainer.step(batch, net);
    session.finish();
    return std::pair(before, floats_of(net.parameters().all()[0].value));
  };
  const auto frozen = train(2, true);
  EXPECT_EQ(frozen.first, frozen.second);
  const auto thawed = train(3, false);
  EXPECT_EQ(thawed.first, frozen.second);
  EXPECT_NE(thawed.second, thawed.first);
  const std::vector<float> momentum =
      floats_in(load(run_folder()).optimizer.at("momentum_buffer").at("in.weight"));
  ASSERT_EQ(momentum.size(), thawed.first.size());
  for (std::size_t i = 0; i < momentum.size(); ++i)
    EXPECT_EQ(thawed.second[i], thawed.first[i] - 0.125F * momentum[i]) << "of one gradient";
  EXPECT_EQ(train(4, true).first, thawed.second) << "and frozen again";
}

}  // namespace
}  // namespace lockstep
