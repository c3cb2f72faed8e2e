// What reaches the metrics, and which time it is the figure of.
#include "trainer/telemetry/step_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/runtime/device.h"

namespace lockstep {
namespace {

using nlohmann::json;
using testing::ElementsAre;

constexpr std::int64_t kSecond = 1'000'000'000;

struct Steps : testing::Test {
  Steps() : folder(std::filesystem::temp_directory_path() / "lockstep_step_log_test") {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    LoggingConfig logging;
    logging.tensorboard = false;
    telemetry = std::make_unique<Telemetry>(
        Telemetry::Start{.run_folder = folder.string(), .console = false}, logging, clock,
        Log::null());
    log = std::make_unique<StepLog>(telemetry.get(), metrics, clock, device, 10, 0.0, 0, 25);
  }
  ~Steps() override { std::filesystem::remove_all(folder); }

  /// A second each.
  void step(std::int64_t number) {
    clock.advance_ns(kSecond);
    log->add_step({.step = number, .metrics = {{"loss", 1.0}}});
  }
  std::vector<json> records() {
    log->flush();
    return written();
  }
  std::vector<json> written() const {
    std::vector<json> out;
    std::ifstream in(folder / "metrics.jsonl");
    for (std::string line; std::getline(in, line);) out.push_back(json::parse(line));
    return out;
  }

  std::filesystem::path folder;
  ManualClock clock;
  Metrics metrics{clock};
  SpanStream spans{clock, metrics};
  Device device{{.memory_bytes = 1 << 20, .threads = 2}, spans};
  std::unique_ptr<Telemetry> telemetry;
  std::unique_ptr<StepLog> log;
};

TEST_F(Steps, TheFirstAndTheLastAreLoggedWhateverTheInterval) {
  for (std::int64_t s = 1; s <= 25; ++s) step(s);
  std::vector<int> steps;
  for (const json& record : records()) steps.push_back(record["step"]);
  EXPECT_THAT(steps, ElementsAre(1, 10, 20, 25));
}

TEST_F(Steps, ARecordIsWrittenAsSoonAsTheNextStepIsThere) {
  for (std::int64_t s = 1; s <= 11; ++s) step(s);
  const std::vector<json> all = written();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1]["step"], 10);
  EXPECT_DOUBLE_EQ(all[1]["wall_time"].get<double>() - all[0]["wall_time"].get<double>(), 9);
}

TEST_F(Steps, MetricsAreMeansOverTheStepsOfARecord) {
  for (std::int64_t s = 1; s <= 20; ++s) {
    const double loss = s == 15 ? NAN : static_cast<double>(s);
    log->add_step({.step = s, .metrics = {{"loss", loss}, {"accuracy", s / 100.0}}});
  }
  const std::vector<json> all = records();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0]["train/loss"], 1);
  EXPECT_EQ(all[0]["train/loss_last"], 1);
  EXPECT_EQ(all[1]["train/loss"], 6);  // of 2 to 10
  EXPECT_EQ(all[1]["train/loss_last"], 10);
  EXPECT_DOUBLE_EQ(all[1]["train/accuracy"], 0.06);
  EXPECT_DOUBLE_EQ(all[2]["train/loss"], 140.0 / 9);  // of 11 to 20 without 15
  EXPECT_EQ(all[2]["train/loss_last"], 20);
}

TEST_F(Steps, ARecordWithoutAFiniteLossSaysSo) {
  log->add_step({.step = 1, .metrics = {{"loss", NAN}}});
  EXPECT_TRUE(records()[0]["train/loss"].is_null());
}

TEST_F(Steps, EvaluationsAndSavesHaveFiguresOfTheirOwn) {
  step(1);
  for (std::int64_t s = 2; s <= 9; ++s) step(s);
  clock.advance_ns(5 * kSecond);
  metrics.sample("EvaluationTime", 5 * kSecond);
  clock.advance_ns(2 * kSecond);
  metrics.sample("SaveTime", 2 * kSecond);
  step(10);
  for (std::int64_t s = 11; s <= 20; ++s) step(s);
  const std::vector<json> all = records();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_DOUBLE_EQ(all[1]["perf/step_ms"], 1000);
  EXPECT_DOUBLE_EQ(all[1]["perf/ups"], 1);
  EXPECT_DOUBLE_EQ(all[1]["perf/eval_ms"], 5000);
  EXPECT_DOUBLE_EQ(all[1]["perf/save_ms"], 2000);
  EXPECT_FALSE(all[2].contains("perf/eval_ms"));
}

TEST_F(Steps, TheUseOfCoresIsThatOfAllTimeAndAllThreads) {
  step(1);
  for (std::int64_t s = 2; s <= 10; ++s) {
    metrics.sample("ExecuteTime", 0.9 * kSecond);
    metrics.sample("ExposedComm", 0.3 * kSecond);
    if (s == 10) {  // with an evaluation, in which the device works as well
      metrics.sample("EvaluationTime", kSecond);
      metrics.sample("ExecuteTime", kSecond);
      clock.advance_ns(kSecond);
    }
    step(s);
  }
  const std::vector<json> all = records();
  ASSERT_EQ(all.size(), 2U);
  // 2 threads for 10 s; one computed for 9 times 0.6 s and 1 s, the other one not.
  EXPECT_NEAR(all[1]["perf/core_use"], (9 * 0.6 + 1) / 20, 1e-12);
  const CoreTimes times = log->core_times();
  EXPECT_EQ(times.steps, 9);
  EXPECT_NEAR(times.computing, 0.32, 1e-12);
  EXPECT_NEAR(times.waiting_for_ranks, 9 * 0.3 / 10, 1e-12);
}

}  // namespace
}  // namespace lockstep
