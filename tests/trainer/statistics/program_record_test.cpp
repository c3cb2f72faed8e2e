#include "trainer/statistics/program_record.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/base/error.h"
#include "core/trace/elementwise.h"
#include "core/trace/ops.h"
#include "tests/core/engine/rank.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

/// Of four steps of two micro-batches: p - the sum of exp(p * x) * x.
struct RecordedRun {
  RecordedRun() : ledger(rank.engine.programs(), [](const Plan&, std::size_t) { return 1e-3; }) {
    rank.spans.listen(ledger, Ledger::kKinds);
    Tensor p = rank.variable({1, 2});
    for (int i = 0; i < 4; ++i) {
      const Tensor x = rank.batch({{1, 2}, {3, 4}});
      const ModuleScope scope(rank.context, "head");
      p.assign(p - all_reduce(exp(p * x) * x));
      rank.engine.mark_step();
      rank.engine.wait();
    }
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it has steps
    record = record_of(ledger.main_program().value());
    record.peak_bytes = 1000;
    record.memory = {{"parameters", 600}, {"activations", 400}};
  }
  ~RecordedRun() { rank.spans.listen(ledger, {}); }

  Rank rank;
  Ledger ledger;
  ProgramRecord record;
};

std::string record_error(const std::string& text) {
  return usage_error([&] { parse_program_record(text, "here"); });
}

TEST(ProgramRecord, HasTheTimesOfTheLedgerAndTheOpsOfFusedKernels) {
  const RecordedRun run;
  const ProgramRecord& record = run.record;
  EXPECT_EQ(record.steps, 3);
  EXPECT_EQ(record.micro_batches, 2);
  ASSERT_THAT(record.programs, SizeIs(2));
  for (const ProgramRecord::Program& program : record.programs) {
    double expected = 0;
    for (const LedgerRow& row : run.ledger.rows())
      if (row.program == program.name) expected += row.ms;
    double ms = 0;
    for (const auto& command : program.commands) ms += command.ms;
    EXPECT_DOUBLE_EQ(ms, expected) << program.name;
    EXPECT_THAT(program.live_bytes, SizeIs(program.commands.size()));
  }
  const auto& fused = record.programs[0].commands[0];
  EXPECT_EQ(fused.work, "fused");
  EXPECT_EQ(fused.module, "head");
  EXPECT_THAT(fused.line, StartsWith("program_record_test.cpp:"));
  EXPECT_EQ(fused.bytes, 2 * 3 * 2 * 4) << "two micro-batches, three vectors of two floats";
  EXPECT_THAT(fused.body, Contains(Field(&ProgramRecord::FusedOp::op, "exp f32[2]")));
  ASSERT_FALSE(record.programs[0].values.empty());
  EXPECT_EQ(record.programs[0].values[0].name, "fused multiply f32[2]");
  EXPECT_EQ(record.programs[0].values[0].bytes, 8);
}

TEST(ProgramRecord, IsReadAsItWasWritten) {
  const RecordedRun run;
  const std::string text = to_json(run.record);
  EXPECT_EQ(to_json(parse_program_record(text, "here")), text);
}

TEST(ProgramRecord, RefusesWhatItDidNotWrite) {
  const RecordedRun run;
  const std::string text = to_json(run.record);
  const auto with = [&](const char* pointer, const nlohmann::json& value) {
    auto json = nlohmann::json::parse(text);
    json[nlohmann::json::json_pointer(pointer)] = value;
    return record_error(json.dump());
  };
  EXPECT_EQ(with("/steps", 5), "no error");
  EXPECT_THAT(record_error(text.substr(0, text.size() / 2)), HasSubstr("not valid JSON"));
  EXPECT_THAT(record_error("[]"), StartsWith("here:1:1: "));
  EXPECT_THAT(with("/format", "a map"), HasSubstr("this is not the record of a program"));
  EXPECT_THAT(with("/version", 2), HasSubstr("version"));
  EXPECT_THAT(with("/steps", 0), HasSubstr("steps"));
  EXPECT_THAT(with("/memory/0/bytes", -1), HasSubstr("memory[0].bytes"));
  EXPECT_THAT(with("/programs/0/name", "third"), HasSubstr("no such program"));
  EXPECT_THAT(with("/programs/0/commands/0/ms", -1), HasSubstr("commands[0].ms: this cannot be"));
  EXPECT_THAT(with("/programs/0/live_bytes", nlohmann::json::array()),
              HasSubstr("it has 0 numbers, and there are 1 commands"));
  EXPECT_THAT(with("/programs/0/values/0/last", 9), HasSubstr("values[0].last"));
}

TEST(ProgramRecord, HasNoCommandsForTerminals) {
  const RecordedRun run;
  auto json = nlohmann::json::parse(to_json(run.record));
  json["memory"][0]["kind"] = "a\x1b[2J\nb";
  EXPECT_EQ(parse_program_record(json.dump(), "here").memory[0].kind, "a?[2J?b");
}

TEST(ProgramRecord, IsKeptInTheRunsFolder) {
  const TemporaryFolder folder;
  EXPECT_FALSE(read_program_record(folder.path()).has_value());
  const RecordedRun run;
  write_program_record(folder.path(), run.record, Log::null());
  const std::optional<ProgramRecord> read = read_program_record(folder.path());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(to_json(*read), to_json(run.record));  // NOLINT(bugprone-unchecked-optional-access)
  std::ofstream(folder.path("profile/program.json")) << "{";
  EXPECT_THAT(usage_error([&] { (void)read_program_record(folder.path()); }),
              StartsWith(folder.path("profile/program.json")));
}

}  // namespace
}  // namespace lockstep
