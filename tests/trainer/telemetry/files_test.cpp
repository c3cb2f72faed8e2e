#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/file_contents.h"
#include "tests/fixtures/temporary_folder.h"
#include "trainer/telemetry/metrics_file.h"
#include "trainer/telemetry/telemetry.h"
#include "trainer/telemetry/tensorboard.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ElementsAre;

class TelemetryFiles : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }
  std::string read(const std::string& name) const { return contents_of(folder_ / name); }
  std::vector<int> steps() const {
    std::vector<int> out;
    std::istringstream in(read("metrics.jsonl"));
    for (std::string line; std::getline(in, line);) out.push_back(json::parse(line)["step"]);
    return out;
  }

  TemporaryFolder folder_;
};

TelemetryRecord at_step(std::int64_t step) {
  TelemetryRecord record{.step = step, .epoch = 0.5, .wall_time = 1.7e9};
  record.train["loss"] = 2.5;
  return record;
}

/// A record with all of its values, each another number.
TelemetryRecord full_record(std::int64_t step) {
  TelemetryRecord record = at_step(step);
  record.train["mlm/accuracy"] = 1;
  record.evaluations = {{"eval/loss", 1}, {"eval/accuracy", 1. / 3}};
  double x = 1.5;
  for (std::optional<double>* value :
       {&record.learning_rate, &record.grad_norm, &record.updates_per_s, &record.tokens_per_s,
        &record.step_ms, &record.trace_ms, &record.device_ms, &record.compile_ms,
        &record.input_wait_ms, &record.exposed_comm_ms, &record.exposed_gap_ms, &record.core_use,
        &record.checkpoint_stall_ms, &record.eval_ms, &record.save_ms, &record.peak_bytes})
    *value = x += 0.1;
  return record;
}

TEST_F(TelemetryFiles, ARecordIsOneJsonObjectWithTheContractsKeys) {
  const TelemetryRecord record = full_record(10);
  std::vector<std::string> keys;
  const json object = json::parse(to_json(record));
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  EXPECT_THAT(
      keys, testing::UnorderedElementsAre(
                "step", "epoch", "wall_time", "train/loss", "train/mlm/accuracy", "lr", "grad_norm",
                "perf/ups", "perf/tokens_per_s", "perf/step_ms", "perf/trace_ms", "perf/device_ms",
                "perf/compile_ms", "perf/input_wait_ms", "perf/exposed_comm_ms",
                "perf/exposed_gap_ms", "perf/core_use", "perf/checkpoint_stall_ms", "perf/eval_ms",
                "perf/save_ms", "memory/peak_bytes", "eval/loss", "eval/accuracy"));
  EXPECT_EQ(object["step"], 10);
}

TEST_F(TelemetryFiles, WhatWasNotMeasuredIsAbsentAndWhatIsNotFiniteIsNull) {
  TelemetryRecord record = at_step(3);
  record.train["loss"] = std::nan("");
  record.grad_norm = INFINITY;
  EXPECT_EQ(
      to_json(record),
      R"({"step":3,"epoch":0.5,"wall_time":1700000000.0,"train/loss":null,"grad_norm":null})");
}

TEST_F(TelemetryFiles, AResumedRunReplacesTheRecordsItMakesAgain) {
  {
    MetricsFile file(path("metrics.jsonl"), -1, Log::null());
    for (int step : {10, 20, 30, 40}) file.write(at_step(step));
  }
  std::ofstream(path("metrics.jsonl"), std::ios::app) << R"({"step":2)";  // torn by a crash
  {
    MetricsFile file(path("metrics.jsonl"), 25, Log::null());
    file.write(at_step(30));
  }
  EXPECT_THAT(steps(), ElementsAre(10, 20, 30));
}

TEST_F(TelemetryFiles, ARecordOfTheResumedStepCompletesItsLine) {
  TelemetryRecord trained = at_step(20);
  trained.train["loss"] = 2.5;
  {
    MetricsFile file(path("metrics.jsonl"), -1, Log::null());
    file.write(at_step(10));
    file.write(trained);
  }
  TelemetryRecord evaluated = at_step(20);
  evaluated.evaluations["eval/loss"] = 3.5;
  {
    MetricsFile file(path("metrics.jsonl"), 20, Log::null());
    file.write(evaluated);
    file.write(at_step(30));
  }
  EXPECT_THAT(steps(), ElementsAre(10, 20, 30));
  std::ifstream in(path("metrics.jsonl"));
  std::string line;
  std::getline(in, line);
  std::getline(in, line);
  EXPECT_EQ(json::parse(line)["train/loss"], 2.5);
  EXPECT_EQ(json::parse(line)["eval/loss"], 3.5);
}

TEST_F(TelemetryFiles, AFreshRunStartsAnEmptyFile) {
  { MetricsFile(path("metrics.jsonl"), -1, Log::null()).write(at_step(10)); }
  { MetricsFile(path("metrics.jsonl"), -1, Log::null()).write(at_step(5)); }
  EXPECT_THAT(steps(), ElementsAre(5));
}

TEST_F(TelemetryFiles, RecordsAreReadAsTheyWereWritten) {
  const std::string file = path("metrics.jsonl");
  EXPECT_THAT(read_metrics(file), testing::IsEmpty()) << "there is no file";
  TelemetryRecord bare = at_step(20);
  bare.train["loss"] = std::nan("");
  bare.evaluations["held_out/top/5"] = 0.25;
  {
    MetricsFile metrics(file, -1, Log::null());
    metrics.write(full_record(10));
    metrics.write(bare);
  }
  const std::vector<TelemetryRecord> records = read_metrics(file);
  ASSERT_THAT(records, testing::SizeIs(2));
  EXPECT_EQ(to_json(records[0]), to_json(full_record(10)));
  EXPECT_EQ(to_json(records[1]), to_json(bare));
  EXPECT_TRUE(std::isnan(records[1].train.at("loss")));
  EXPECT_FALSE(records[1].learning_rate.has_value()) << "it was not measured";
}

TEST_F(TelemetryFiles, ALineThatIsBeingWrittenIsNotRead) {
  { MetricsFile(path("metrics.jsonl"), -1, Log::null()).write(at_step(10)); }
  // Without its newline it may be a prefix of another number.
  for (const char* torn : {R"({"step":2)", R"({"step":20,"epoch":1.0,"wall_time":1.0})"}) {
    folder_.write("torn.jsonl", read("metrics.jsonl") + torn);
    EXPECT_THAT(read_metrics(path("torn.jsonl")), testing::SizeIs(1)) << torn;
  }
}

TEST_F(TelemetryFiles, AnotherLineIsRefusedByFileAndLine) {
  const std::string first = to_json(at_step(10)) + "\n";
  const auto problem = [&](const std::string& line) {
    const std::string file = folder_.write("damaged.jsonl", first + line + "\n" + first);
    const std::string text = usage_error([&] { read_metrics(file); });
    EXPECT_TRUE(text.starts_with(file + ":2:")) << text;
    return text.substr(text.find(":2:") + 1);
  };
  EXPECT_THAT(problem(R"({"step":20,"epo)" + first), testing::StartsWith("2:"));
  EXPECT_EQ(problem(R"({"step":-1})"),
            "2:9: step: must be an integer from 0 to 9223372036854775807, not -1");
  EXPECT_EQ(problem(R"({"step":1,"wall_time":1})"), "2:1: 'epoch' is missing");
  EXPECT_EQ(problem(R"({"step":1,"epoch":"a","wall_time":1})"),
            R"(2:19: epoch: must be a number, not the string "a")");
  EXPECT_EQ(problem(R"({"step":1,"epoch":1,"wall_time":1,"lr":1,"lr":2})"),
            R"(2:42: the key "lr" is there twice, first at 2:35)");
  EXPECT_EQ(problem(R"({"step":1,"epoch":1,"wall_time":1,"rate":1})"),
            "2:42: rate: is no measurement of a step");
  EXPECT_EQ(problem("[]"), "2:1: must be an object, not a list");
  EXPECT_EQ(problem(""), "2:1: not valid JSON: the text is empty");
}

TEST_F(TelemetryFiles, AFolderThatIsNotThereIsAnError) {
  EXPECT_THROW(MetricsFile(path("no/metrics.jsonl"), -1, Log::null()), Error);
}

TEST_F(TelemetryFiles, AFullDiskDoesNotStopTheRun) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this machine";
  fs::create_symlink("/dev/full", path("full.jsonl"));
  MetricsFile file(path("full.jsonl"), -1, Log::null());
  EXPECT_NO_THROW(file.write(at_step(1)));
}

TEST(Crc32c, MatchesThePublishedVectors) {
  // RFC 3720, B.4.
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
}

/// Walks TFRecords, checking lengths and both checksums, and returns the payloads.
std::vector<std::string> records_of(const std::string& bytes) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    const std::string payload = bytes.substr(at + 12, length);
    EXPECT_EQ(bytes.substr(at, length + 16), tf_record(payload));
    out.push_back(payload);
    at += length + 16;
  }
  return out;
}

TEST_F(TelemetryFiles, ATfRecordIsFramedAsTensorFlowDoesIt) {
  // The first record of every event file that TensorBoard's own writer makes at time 0.
  const std::string version(
      "\x09\0\0\0\0\0\0\0\0\x1A\x0D"
      "brain.Event:2",
      24);
  const std::string framed = tf_record(version);
  EXPECT_EQ(framed.substr(0, 12), std::string("\x18\0\0\0\0\0\0\0\xA3\x7F\x4B\x22", 12));
  EXPECT_EQ(framed.size(), version.size() + 16);
}

TEST_F(TelemetryFiles, EventsCarryTagsAndFloats) {
  TensorBoardFile file(folder_.path(), 1.7e9, -1, Log::null());
  file.write(at_step(300));
  const std::vector<std::string> records = records_of(read(fs::path(file.path()).filename()));
  ASSERT_EQ(records.size(), 2U);
  EXPECT_THAT(records[0], testing::HasSubstr("brain.Event:2"));
  // double 1, varint 2 = 300, message 5 { message 1 { string 1 "train/loss", float 2 = 2.5 } }
  EXPECT_EQ(records[1].substr(9), std::string("\x10\xAC\x02\x2A\x13\x0A\x11\x0A\x0A"
                                              "train/loss"
                                              "\x15\0\0\x20\x40",
                                              24));
}

TEST_F(TelemetryFiles, EventsCarryTexts) {
  TensorBoardFile file(folder_.path(), 1.7e9, -1, Log::null());
  file.write_text(1.7e9, 3, "sample", "to be");
  const std::vector<std::string> records = records_of(read(fs::path(file.path()).filename()));
  ASSERT_EQ(records.size(), 2U);
  // double 1, varint 2 = 3, message 5 { message 1 { string 1 "sample", message 8 { varint 1 = 7 (a
  // string), message 2 { message 2 { varint 1 = 1 } }, bytes 8 "to be" }, message 9 { message 1 {
  // string 1 "text" } } } }
  EXPECT_EQ(records[1].substr(9),
            "\x10\x03\x2A\x25\x0A\x23"
            "\x0A\x06sample"
            "\x42\x0F\x08\x07\x12\x04\x12\x02\x08\x01\x42\x05to be"
            "\x4A\x08\x0A\x06\x0A\x04text");
}

TEST_F(TelemetryFiles, AResumedRunTellsTensorBoardToForgetLaterSteps) {
  TensorBoardFile file(folder_.path(), 1.7e9, 25, Log::null());
  const std::vector<std::string> records = records_of(read(fs::path(file.path()).filename()));
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[1].substr(9), "\x10\x1A\x3A\x02\x08\x01");  // step 26, session_log { START }
}

TEST_F(TelemetryFiles, TelemetryStampsRecordsAndWritesThemEverywhere) {
  ManualClock clock;
  Telemetry telemetry({folder_.path(), -1, 100, 1.7e9}, {.interval = 10, .tensorboard = true},
                      clock, Log::null());
  clock.advance_ns(2'500'000'000);
  telemetry.write(at_step(10));
  EXPECT_EQ(json::parse(read("metrics.jsonl"))["wall_time"], 1.7e9 + 2.5);
  EXPECT_EQ(folder_.names().size(), 2U);
}

TEST_F(TelemetryFiles, EventFilesAreOptional) {
  ManualClock clock;
  Telemetry telemetry({folder_.path(), -1, 100, 1.7e9}, {.interval = 10, .tensorboard = false},
                      clock, Log::null());
  EXPECT_EQ(folder_.names().size(), 1U);
}

}  // namespace
}  // namespace lockstep
