#include "trainer/telemetry/compilations_file.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "tests/core/engine/rank.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/file_contents.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

/// The records of an engine whose batch grows from 2 to 3.
std::vector<CompilationRecord> growing_batch() {
  Rank rank;
  std::vector<CompilationRecord> out;
  rank.engine.set_compilation_listener(
      [&](const CompilationRecord& record) { out.push_back(record); });
  for (const std::size_t length : {2, 3}) {
    const Tensor loss = sum(rank.batch({std::vector<float>(length, 1)}, "batch.x"));
    rank.engine.mark_step();
  }
  return out;
}

TEST(CompilationsFile, HasALineOfJsonForEachProgram) {
  const std::vector<CompilationRecord> records = growing_batch();
  ASSERT_EQ(records.size(), 2U);
  const Json first = Json::parse(to_json(records[0], 1));
  EXPECT_EQ(first["rank"], 1);
  EXPECT_EQ(first["cause"], "first_compile");
  EXPECT_EQ(first["causes"], Json::array({"first_compile"}));
  EXPECT_FALSE(first.contains("text"));
  const Json second = Json::parse(to_json(records[1], 0));
  EXPECT_EQ(second["event"], "compiled");
  EXPECT_EQ(second["program"], 1);
  EXPECT_EQ(second["relative"], 0);
  EXPECT_EQ(second["cause"], "input_shape");
  EXPECT_EQ(second["causes"], Json::array({"input_shape"}));
  EXPECT_EQ(second["text"], "batch.x[0]: 2 -> 3");
  EXPECT_EQ(second["misses"], 2);
  EXPECT_EQ(second["alike"], 1);
  EXPECT_EQ(second["cut"], "mark_step");
  EXPECT_TRUE(second["line"].get<std::string>().starts_with("compilations_file_test.cpp:"));
  const Json& difference = second["differences"][0];
  EXPECT_EQ(difference["subject"], "batch.x[0]");
  EXPECT_EQ(difference["from"], "2");
  EXPECT_EQ(difference["to"], "3");
  EXPECT_EQ(difference["derived"], false);
}

TEST(CompilationsFile, KeepsLinesUntilThereIsAFileAndAppends) {
  const TemporaryFolder folder;
  const std::string path = folder.path("compilations.jsonl");
  const std::vector<CompilationRecord> records = growing_batch();
  for (int run = 0; run < 2; ++run) {
    CompilationsFile file(run);
    file.add(records[0]);
    file.open(path, Log::null());
    file.add(records[1]);
  }
  EXPECT_EQ(contents_of(path), to_json(records[0], 0) + "\n" + to_json(records[1], 0) + "\n" +
                                   to_json(records[0], 1) + "\n" + to_json(records[1], 1) + "\n");
}

TEST(CompilationsFile, IsReadAsTheTallyOfOneRank) {
  const TemporaryFolder run;
  CauseTally expected;
  {
    CompilationsFile mine(0), other(1);
    for (CompilationsFile* file : {&mine, &other})
      file->open(compilations_path(run.path()), Log::null());
    for (const CompilationRecord& record : growing_batch()) {
      mine.add(record);
      other.add(record);
      expected.add(record.explanation, record.loaded, record.seconds);
    }
  }
  std::ofstream(compilations_path(run.path()), std::ios::app) << R"({"rank": 0, "ste)";
  const CauseTally read = read_compilations(run.path(), 0);
  EXPECT_EQ(read.misses(), 2);
  EXPECT_EQ(read.table(), expected.table());
  EXPECT_THAT(read.table(), testing::HasSubstr("batch.x[0]: 2 -> 3"));
  EXPECT_EQ(read_compilations(run.path(), 2).misses(), 0);
}

TEST(CompilationsFile, IsReadEventByEventWithTheTimesOfPasses) {
  const TemporaryFolder run;
  const std::vector<CompilationRecord> records = growing_batch();
  {
    CompilationsFile file(0);
    file.open(compilations_path(run.path()), Log::null());
    for (const CompilationRecord& record : records) file.add(record);
    CompilationRecord loaded = records[1];
    loaded.loaded = true;
    loaded.pass_ms.clear();
    file.add(loaded);
  }
  const std::vector<CompilationEvent> events = read_compilation_events(run.path(), 0);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].cause, "first_compile");
  EXPECT_EQ(events[0].text, "");
  EXPECT_EQ(events[1].text, "batch.x[0]: 2 -> 3");
  EXPECT_FALSE(events[1].loaded);
  EXPECT_EQ(events[1].seconds, records[1].seconds);
  EXPECT_EQ(events[1].passes, records[1].pass_ms);
  ASSERT_FALSE(events[1].passes.empty());
  EXPECT_EQ(events[1].passes.front().first, "canonicalize");
  EXPECT_EQ(events[1].passes.back().first, "kernels");
  EXPECT_TRUE(events[2].loaded);
  EXPECT_TRUE(events[2].passes.empty());
  EXPECT_TRUE(read_compilation_events(run.path(), 1).empty());
}

TEST(CompilationsFile, RefusesEventsThatCannotBe) {
  const Json line = Json::parse(to_json(growing_batch()[1], 0));
  const auto error_with = [&](const char* key, const Json& value) {
    const TemporaryFolder run;
    Json changed = line;
    changed[key] = value;
    std::ofstream(compilations_path(run.path())) << changed.dump() << "\n";
    return usage_error([&] { (void)read_compilation_events(run.path(), 0); });
  };
  EXPECT_EQ(error_with("seconds", 1), "no error");
  EXPECT_THAT(error_with("seconds", -1), testing::HasSubstr("a time of -1"));
  EXPECT_THAT(error_with("event", "made"), testing::HasSubstr("there is no event made"));
  EXPECT_THAT(error_with("cause", "luck"), testing::HasSubstr("there is no cause \"luck\""));
  EXPECT_THAT(error_with("passes", {{"fuse", 1e300}}), testing::HasSubstr("a time of 1e+300"));
}

TEST(CompilationsFile, KeepsWhatIsNotedOnAChange) {
  CompilationRecord record;
  record.explanation.differences.push_back({.cause = Cause::kConstant,
                                            .subject = "constant i32[9] a.cpp:3 [0]",
                                            .from = "1",
                                            .to = "2",
                                            .note = "9 of 9 differ"});
  const std::string line = to_json(record, 0);
  EXPECT_EQ(Json::parse(line)["differences"][0]["to"], "2");
  const TemporaryFolder run;
  std::ofstream(compilations_path(run.path())) << line << "\n";
  EXPECT_THAT(read_compilations(run.path(), 0).table(),
              testing::HasSubstr("[0]: 1 -> 2 (9 of 9 differ)\n"));
}

TEST(CompilationsFile, RefusesLinesThatItDidNotWrite) {
  const TemporaryFolder run;
  std::ofstream(compilations_path(run.path())) << "{\"rank\": 0}\n{}\n";
  try {
    read_compilations(run.path(), 0);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("compilations.jsonl:1: not a line of a compilation"));
  }
}

TEST(CompilationsFile, SaysOnceThatItCannotBeWritten) {
  const std::vector<CompilationRecord> records = growing_batch();
  const DebugLog debug;
  CompilationsFile full(0);
  full.open("/dev/full", *debug.log);
  full.add(records[0]);
  full.add(records[1]);
  EXPECT_EQ(debug.lines_with("a compilation could not be written").size(), 1U);
  CompilationsFile nowhere(0);
  nowhere.open("/nonexistent/compilations.jsonl", *debug.log);
  nowhere.add(records[0]);
  EXPECT_EQ(debug.lines_with("compilations cannot be written").size(), 1U);
}

}  // namespace
}  // namespace lockstep
