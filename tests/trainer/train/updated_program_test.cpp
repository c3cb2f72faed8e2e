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

/// Checkpoints of every step, from which a resume goes on.
TrainerOptions averaging(const std::string& run, double ema) {
  return {.run = run,
          .training = {.ema = ema},
          .checkpoint = {.resume = "auto", .save_interval = 1, .keep_last = 100}};
}

NamedTensors saved_averages(const std::string& run, int step) {
  return load(fmt::format("{}/checkpoints/step-{:08d}.h5", run, step)).optimizer.at("ema");
}

TEST_F(UpdatedProgram, EvaluatesTheAveragesOfItsWeights) {
  Session session(ProcessCall{words, settings, watch}, {});
  Net net;
  Trainer trainer(session, net, Sgd{.learning_rate = 0.1}, averaging(run_folder(), 0.75));
  const DataLoader data(session, points(64), {.global_batch_size = 16, .micro_batch_size = 4});
  std::vector<std::vector<float>> trained{floats_of(net.parameters().all()[0].value)};
  for (const Batch& batch : trainer.steps(data, 4)) {
    trainer.step(batch, net);
    trained.push_back(floats_of(net.parameters().all()[0].value));
  }
  std::vector<float> average = trained[0];
  for (std::size_t step = 1; step < trained.size(); ++step)
    for (std::size_t i = 0; i < average.size(); ++i)
      average[i] += (trained[step][i] - average[i]) * 0.25F;
  const NamedTensors averages = saved_averages(run_folder(), 4);
  EXPECT_EQ(floats_in(averages.at("in.weight")), average);

  const double loss = trainer.evaluate(data, net).at("loss");
  EXPECT_EQ(floats_of(net.parameters().all()[0].value), trained.back()) << "back in training";
  Net other;
  Trainer of_averages(session, other, Sgd{});
  for (Parameter& parameter : other.parameters().all())
    parameter.value = session.tensor(averages.at(parameter.name), parameter.name);
  EXPECT_EQ(of_averages.evaluate(data, other).at("loss"), loss);
  session.finish();
}

TEST_F(UpdatedProgram, BeginsAveragesAtTheWeightsOfAResume) {
  const auto train = [&](const std::string& run, std::int64_t steps, double ema) {
    Session session(ProcessCall{words, settings, watch}, {});
    Net net;
    Trainer trainer(session, net, Sgd{.learning_rate = 0.1}, averaging(folder / run, ema));
    const DataLoader data(session, points(64), {.global_batch_size = 16, .micro_batch_size = 4});
    for (const Batch& batch : trainer.steps(data, steps)) trainer.step(batch, net);
    session.finish();
  };
  const auto weights = [&](const std::string& run, int step) {
    return floats_in(load(fmt::format("{}/checkpoints/step-{:08d}.h5", folder / run, step))
                         .model.at("in.weight"));
  };
  train("late", 2, 0);
  train("late", 3, 0.75);
  std::vector<float> expected = weights("late", 2);
  const std::vector<float> then = weights("late", 3);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += (then[i] - expected[i]) * 0.25F;
  EXPECT_EQ(floats_in(saved_averages(folder / "late", 3).at("in.weight")), expected);

  train("whole", 3, 0.75);
  train("parts", 2, 0.75);
  train("parts", 3, 0.75);
  EXPECT_EQ(floats_in(saved_averages(folder / "parts", 3).at("in.weight")),
            floats_in(saved_averages(folder / "whole", 3).at("in.weight")));
  EXPECT_NE(floats_in(saved_averages(folder / "whole", 3).at("in.weight")), expected);
}

}  // namespace
}  // namespace lockstep
