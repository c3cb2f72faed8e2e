// Programs that read values: which reads are told of, and which are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/base/rng.h"
#include "core/base/settings.h"
#include "core/nn/layers.h"
#include "data/tensor_dataset.h"
#include "tests/core/error_of.h"
#include "trainer/optimizers/sgd.h"
#include "trainer/process.h"
#include "trainer/rank_runtime.h"
#include "trainer/trainer.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

struct Net : Module {
  Linear in{*this, "in", 2, 8}, out{*this, "out", 8, 1};

  Loss operator()(const Batch& batch) const {
    const Tensor error = out(relu(in(batch["x"]))) - batch["y"];
    return {.sum = batch.masked_sum(error * error), .count = batch.count()};
  }
};

DatasetPtr points(std::int64_t count) {
  HostTensor x(DType::kF32, {count, 2});
  HostTensor y(DType::kF32, {count, 1});
  random_normal({.seed = 7}, 0, x.as<float>());
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    y.as<float>()[i] = x.as<float>()[2 * i] * x.as<float>()[2 * i + 1];
  return tensor_dataset({{"x", x}, {"y", y}});
}

struct Reads : testing::Test {
  Reads() : folder(std::filesystem::temp_directory_path() / "lockstep_reads_test") {
    std::filesystem::remove_all(folder);
    settings.max_isa = settings_from_environment().max_isa;
  }
  ~Reads() override { std::filesystem::remove_all(folder); }

  std::string run_folder() const { return (folder / "run").string(); }

  std::filesystem::path folder;
  std::vector<std::string> words{"device.compile_cache=off"};
  Settings settings;
  Watch watch;
};

TEST_F(Reads, TellsWhichValuesWereReadWithinAStepAndWhichOnesInAHurry) {
  int line = 0;
  {
    Session session(ProcessCall{words, settings, watch}, {});
    Net net;
    Trainer trainer(session, net, Sgd{}, {.run = run_folder()});
    const DataLoader data(session, points(100), {.global_batch = 32, .micro_batch = 32});
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
  const DataLoader data(session, points(100), {.global_batch = 32, .micro_batch = 32});
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
