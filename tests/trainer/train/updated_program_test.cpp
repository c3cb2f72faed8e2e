// What the options of a program make of its updates: rates, groups, parameters that are not
// trained, averages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace lockstep
