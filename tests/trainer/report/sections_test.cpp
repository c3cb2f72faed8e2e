// What a report says of a run: its sentences and figures, from facts made by hand.
#include "trainer/report/sections.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "trainer/report/look_at.h"

namespace lockstep {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;

RankProfile made_profile(int rank, double dot_ms, double wait_ms) {
  RankProfile out{.rank = rank, .ranks = 2, .host = "a", .limits = "not calibrated: default"};
  out.steps = 3;
  out.left_out = 1;
  out.rows = {
      {.program = "gradient", .work = "dot", .op = "dot_general", .module = "h.0", .ms = dot_ms},
      {.program = "step", .work = "all-reduce", .ms = wait_ms},
      {.program = "step", .work = "inputs", .ms = 1}};
  out.mean_step_ms = dot_ms + wait_ms + 1;
  out.step_ms = {out.mean_step_ms, out.mean_step_ms, out.mean_step_ms};
  out.step_numbers = {1, 2, 3};
  out.odd_steps = {
      {.step = 0, .ms = 90, .first_of_program = true},
      {.step = 3, .ms = 70, .beyond_mean_ms = {{"checkpoint", 2}, {"evaluation", 50}}}};
  return out;
}

RunFacts facts_of_two_ranks() {
  RunFacts out{.folder = "runs/a", .name = "a"};
  out.profiles = {made_profile(0, 8, 3), made_profile(1, 11, 0)};
  return out;
}

TEST(Report, SaysWhoIsLate) {
  const RunFacts facts = facts_of_two_ranks();
  const json section = json::parse(ranks_section(facts));
  EXPECT_THAT(
      section["finding"].get<std::string>(),
      HasSubstr("1 of 2 ranks waits 25.0 % of each step for rank 1 on a, whose gradient dot takes "
                "3 ms more than theirs"));
  EXPECT_EQ(section["late"]["most"], "gradient dot");
  EXPECT_EQ(section["ranks"][0]["wait_ms"], 3);
  EXPECT_EQ(section["ranks"][1]["work_ms"], 12);
  // It costs more than the wait for input, and so comes first.
  const std::vector<LookAt> look = things_to_look_at(facts);
  ASSERT_EQ(look.size(), 2);
  EXPECT_EQ(look[0].section, "ranks");
  EXPECT_THAT(look[1].text, HasSubstr("waits for input 1 ms of each step (8.3 %)"));
}

TEST(Report, DividesAStepIntoWhatItIsMadeOf) {
  const json section = json::parse(step_section(facts_of_two_ranks()));
  double sum = 0;
  for (const json& part : section["waterfall"]) sum += part["ms"].get<double>();
  EXPECT_DOUBLE_EQ(sum, section["mean_ms"].get<double>());
  EXPECT_EQ(section["waterfall"][0]["group"], "device");
  EXPECT_EQ(section["strip"]["odd"][0]["cause"], "first step of a program");
  EXPECT_EQ(section["strip"]["odd"][0]["step"], 1) << "counted as updates made, as in the curves";
  EXPECT_EQ(section["strip"]["odd"][1]["cause"], "evaluation");
  EXPECT_THAT(section["strip"]["odd"][1]["text"].get<std::string>(),
              HasSubstr("rank 0, evaluation: 50 ms"));
}

TEST(Report, LooksForTheCauseOfAWaitOnTheOtherRanks) {
  RunFacts facts = facts_of_two_ranks();
  facts.profiles[0].odd_steps = {{.step = 2, .ms = 90, .beyond_mean_ms = {{"all-reduce", 60}}}};
  facts.profiles[1].odd_steps = {{.step = 2, .ms = 90, .beyond_mean_ms = {{"gradient", 55}}}};
  const json odd = json::parse(step_section(facts))["strip"]["odd"][0];
  EXPECT_EQ(odd["cause"], "slower kernels");
  EXPECT_EQ(odd["text"], "rank 1, gradient: 55 ms more than in a mean step");
}

TEST(Report, SaysWhenOthersHadTheCores) {
  RunFacts facts = facts_of_two_ranks();
  const auto cause = [&](OddStep step) {
    facts.profiles[0].odd_steps = {std::move(step)};
    return json::parse(step_section(facts))["strip"]["odd"][0]["cause"].get<std::string>();
  };
  EXPECT_EQ(cause({.step = 2,
                   .ms = 90,
                   .beyond_mean_ms = {{"gradient", 55}},
                   .core_wait_beyond_mean_ms = 40}),
            "no free core");
  EXPECT_EQ(cause({.step = 2,
                   .ms = 90,
                   .beyond_mean_ms = {{"gradient", 55}},
                   .core_wait_beyond_mean_ms = 20}),
            "slower kernels")
      << "less than half of it";
  EXPECT_EQ(cause({.step = 2,
                   .ms = 90,
                   .beyond_mean_ms = {{"dispatch", 55}},
                   .core_wait_beyond_mean_ms = 40}),
            "no free core");
  EXPECT_EQ(cause({.step = 2,
                   .ms = 90,
                   .beyond_mean_ms = {{"evaluation", 55}},
                   .core_wait_beyond_mean_ms = 40}),
            "evaluation")
      << "that is the reason";
  facts.profiles[0].core_wait_ms = 0.5;
  ASSERT_GE(things_to_look_at(facts).size(), 2);
  EXPECT_THAT(
      things_to_look_at(facts).back().text,
      HasSubstr("rank 0 on a waits 500 us of each step (4.2 %) for a core, which others use"));
}

TEST(Report, SumsTheTimeOfTrainingWithoutThatBetweenJobs) {
  RunFacts facts{.folder = "runs/a"};
  facts.metrics = {{.step = 10, .wall_time = 100, .step_ms = 10},
                   {.step = 20, .wall_time = 101, .step_ms = 10},
                   {.step = 30, .wall_time = 900, .step_ms = 40}};
  facts.lives = {{.step = 0}, {.step = 20}};
  EXPECT_DOUBLE_EQ(facts.training_seconds(), 1);
  EXPECT_DOUBLE_EQ(facts.mean_logged_step_ms(), 20);
}

TEST(Report, QuotesWordsForAShell) {
  EXPECT_EQ(shell_word("runs/a-1.b"), "runs/a-1.b");
  EXPECT_EQ(shell_word("$(touch x) y"), "'$(touch x) y'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(Report, SaysWhyARunWithALedgerHasNoTimes) {
  RunFacts facts{.folder = "runs/a"};
  facts.config.emplace().profile.ledger = true;
  facts.is_running = true;
  EXPECT_THAT(facts.without_ledger(), HasSubstr("it still trains"));
  facts.is_running = false;
  facts.lives = {{.ended = "2026-01-01T00:00:01Z", .how = "failed"}};
  EXPECT_THAT(facts.without_ledger(), HasSubstr("its last job did not"));
}

TEST(Report, NamesTheCauseOfARecompiledStep) {
  RunFacts facts = facts_of_two_ranks();
  facts.compilation_events = {{.step = 0,
                               .loaded = false,
                               .seconds = 2,
                               .cause = "input_shape",
                               .text = "batch.tokens[length]: 57 -> 61",
                               .remedy = "pad it"}};
  const json step = json::parse(step_section(facts));
  EXPECT_EQ(step["strip"]["odd"][0]["cause"], "recompilation");
  EXPECT_EQ(step["strip"]["odd"][0]["text"],
            "1 program compiled or loaded in 2 s: batch.tokens[length]: 57 -> 61");
  const json learning = json::parse(learning_section(facts));
  EXPECT_EQ(learning["events"][0]["kind"], "recompilation");
}

TEST(Report, SaysHowTheLastJobEnded) {
  RunFacts facts{.folder = "runs/a"};
  facts.metrics = {{.step = 40, .train = {{"loss", 1.5}}}};
  const auto verdict = [&] { return json::parse(verdict_section(facts)); };
  EXPECT_EQ(verdict()["state"], "unknown");
  facts.lives = {{.began = "2026-01-01T00:00:00Z"}};
  EXPECT_EQ(verdict()["state"], "killed");
  EXPECT_EQ(verdict()["finding"],
            "The last job of the run left no end after step 40: it was killed, or still trains "
            "elsewhere; train/loss is 1.5.");
  facts.is_running = true;
  EXPECT_EQ(verdict()["state"], "running");
  facts.is_running = false;
  facts.lives[0].ended = "2026-01-01T00:00:01Z";
  facts.lives[0].how = "failed";
  facts.lives[0].last_step = 41;
  facts.lives[0].error = "the loss is not finite";
  EXPECT_THAT(verdict()["finding"].get<std::string>(),
              HasSubstr("The run failed: the loss is not finite;"));
}

TEST(Report, HasNullForWhatIsNotFinite) {
  RunFacts facts{.folder = "runs/a"};
  facts.metrics = {{.step = 1, .train = {{"loss", 2}}}, {.step = 2, .train = {{"loss", NAN}}}};
  const json section = json::parse(learning_section(facts));
  EXPECT_EQ(section["series"][0]["value"], json::parse("[2, null]"));
}

TEST(Report, MarksSkippedStepsAndSuspectSaves) {
  RunFacts facts{.folder = "runs/a"};
  facts.config.emplace().training.on_nonfinite = OnNonfinite::kSkip;
  facts.metrics = {{.step = 1, .grad_norm = 2}, {.step = 2, .grad_norm = NAN}};
  facts.suspects = {{.step = 3, .path = "runs/a/checkpoints/step-00000003.suspect.h5"}};
  const json events = json::parse(learning_section(facts))["events"];
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(events[0]["kind"], "skipped");
  EXPECT_EQ(events[0]["step"], 2);
  EXPECT_EQ(events[1]["kind"], "suspect save");
}

TEST(Report, HasTheRoofsOfTheSimulatedDevice) {
  RunFacts facts = facts_of_two_ranks();
  facts.limits = default_limits({});
  for (RankProfile& profile : facts.profiles) profile.simulated = {"a100-sxm4-80gb", 3, 1};
  const json roofline = json::parse(ops_section(facts))["roofline"];
  EXPECT_EQ(roofline["device"]["name"], "a100-sxm4-80gb");
  EXPECT_GT(roofline["device"]["roofs"].size(), 0);
  for (RankProfile& profile : facts.profiles) profile.simulated.device = "no-such-device";
  EXPECT_FALSE(json::parse(ops_section(facts))["roofline"].contains("device"));
}

TEST(Report, NamesTheKeyOfWhatWasNotRecorded) {
  const RunFacts facts{.folder = "runs/a"};
  for (const auto section : {step_section, ranks_section, ops_section, memory_section,
                             communication_section, graph_section})
    EXPECT_THAT(json::parse(section(facts))["missing"].get<std::string>(),
                HasSubstr("profile.ledger=true"));
  EXPECT_THAT(things_to_look_at(facts), IsEmpty());
}

TEST(Report, ListsOnlyTheKeysThatDiffer) {
  RunFacts first{.config_text = "run:\n  name: a\noptimizer:\n  lr: 0.1\n  betas: [0.9, 0.99]\n"};
  RunFacts second{.config_text =
                      "run:\n  name: b\noptimizer:\n  lr: 0.2\n  betas: [0.9, 0.99]\n  x: 1\n"};
  EXPECT_EQ(json::parse(config_differences({first, second})),
            json::parse(R"([{"key": "optimizer.lr", "values": ["0.1", "0.2"]},
                            {"key": "optimizer.x", "values": [null, "1"]}])"));
}

TEST(Report, SumsTheGraphUp) {
  RunFacts facts{.folder = "runs/a"};
  ProgramRecord& record = facts.program.emplace();
  record.programs = {{.name = "gradient",
                      .commands = {{.op = "dot", .work = "dot", .module = "h.0.attn", .ms = 2},
                                   {.op = "fusion",
                                    .work = "fused",
                                    .module = "h.0",
                                    .ms = 1,
                                    .body = {{.op = "add f32[2]"}, {.op = "exp f32[2]"}}},
                                   {.op = "sum", .work = "reduce", .ms = 0.5}}}};
  const json root = json::parse(graph_section(facts))["root"];
  EXPECT_EQ(root["ms"], 3.5);
  const json& gradient = root["children"][0];
  EXPECT_EQ(gradient["kind"], "program");
  EXPECT_EQ(gradient["children"][0]["name"], "h");
  EXPECT_EQ(gradient["children"][0]["ms"], 3);
  EXPECT_EQ(gradient["children"][1]["kind"], "kernel");
  const json& block = gradient["children"][0]["children"][0];
  EXPECT_EQ(block["name"], "0");
  EXPECT_EQ(block["children"][1]["children"].size(), 2) << "the ops of the fused kernel";
}

}  // namespace
}  // namespace lockstep
