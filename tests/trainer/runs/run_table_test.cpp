// Which runs a table shows, and in which order.
#include "trainer/runs/run_table.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

RunSummary made(const std::string& name, std::optional<double> best, const std::string& rate,
                RunState state = RunState::kEnded) {
  return {.folder = "runs/" + name,
          .name = name,
          .model = "mlp",
          .state = state,
          .step = 10,
          .metrics = {{.last = best, .last_step = 10, .best = best, .best_step = 9}},
          .wall_seconds = 61,
          .ended = "2026-11-23T05:41:40Z",
          .config = {{"optimizer.learning_rate", rate}, {"model.name", "mlp"}}};
}

RunTable made_table(bool larger_is_better = false) {
  return {{made("a", 3, "0.1"), made("b", {}, "1e-1"), made("c", 1, "0.1"),
           made("d", 2, "0.01", RunState::kFailed)},
          {{"eval/x", larger_is_better}}};
}

std::vector<std::string> names_in(const RunTable& table) {
  std::vector<std::string> out;
  for (const RunSummary& run : table.runs()) out.push_back(run.name);
  return out;
}

TEST(RunTable, SortsAMetricByItsBestAndMissingOnesLast) {
  RunTable table = made_table();
  table.sort("eval/x");
  EXPECT_THAT(names_in(table), ElementsAre("c", "d", "a", "b"));
  RunTable rising = made_table(true);
  rising.sort("eval/x");
  EXPECT_THAT(names_in(rising), ElementsAre("a", "d", "c", "b"));
  rising.reverse();
  EXPECT_THAT(names_in(rising), ElementsAre("b", "c", "d", "a"));
}

TEST(RunTable, SortsNumbersAsNumbers) {
  RunTable table({made("a", 1, "10"), made("b", 1, "9"), made("c", 1, "1e-3")}, {{"eval/x"}});
  table.sort("optimizer.learning_rate");
  EXPECT_THAT(names_in(table), ElementsAre("c", "b", "a"));
}

TEST(RunTable, KeepsWhatTheFilterNames) {
  const auto kept = [](const std::string& word) {
    RunTable table = made_table();
    table.filter(word);
    return names_in(table);
  };
  EXPECT_THAT(kept("optimizer.learning_rate=0.1"), ElementsAre("a", "b", "c"))
      << "0.1 is 1e-1, too";
  EXPECT_THAT(kept("state=failed,training"), ElementsAre("d"));
  EXPECT_THAT(kept("name=[ab]"), ElementsAre("a", "b"));
  EXPECT_THAT(kept("name=x*"), ElementsAre());
}

TEST(RunTable, RefusesAFieldThatNoRunHas) {
  RunTable table = made_table();
  EXPECT_THAT(usage_error([&] { table.sort("optimizer.learning_rat"); }),
              HasSubstr("no run has 'optimizer.learning_rat'; did you mean "
                        "'optimizer.learning_rate'?: name a column"));
  EXPECT_THAT(usage_error([&] { table.filter("name"); }), HasSubstr("--filter takes KEY=VALUE"));
}

TEST(RunTable, ShowsWhereARunDiffersFromMost) {
  const std::string text = made_table().text();
  EXPECT_THAT(text, HasSubstr("name  model  state   step  eval/x  best"));
  EXPECT_THAT(text, HasSubstr("1m 1s  2026-11-23 05:41  optimizer.learning_rate=0.01\n"));
  EXPECT_THAT(text, Not(HasSubstr("learning_rate=0.1\n"))) << "the value of most";
}

TEST(RunTable, PutsReasonsBelow) {
  RunSummary failed = made("d", 2, "0.01", RunState::kFailed);
  failed.why = "no room";
  const std::string text = RunTable({failed}, {{"eval/x"}}).text();
  EXPECT_THAT(text, testing::EndsWith("\nd: failed: no room\n"));
}

TEST(RunTable, HasAllValuesAsCsvAndJson) {
  const RunTable table = made_table();
  EXPECT_THAT(table.csv(), testing::StartsWith(
                               "name,folder,model,state,step,eval/x,eval/x step,eval/x best,eval/x "
                               "best step,wall_seconds,ended,why,optimizer.learning_rate\r\n"
                               "a,runs/a,mlp,ended,10,3,10,3,9,61,2026-11-23T05:41:40Z,,0.1\r\n"));
  const auto json = nlohmann::json::parse(table.json());
  ASSERT_EQ(json.size(), 4);
  EXPECT_EQ(json[2]["metrics"]["eval/x"]["best"], 1);
  EXPECT_FALSE(json[1]["metrics"].contains("eval/x"));
  EXPECT_EQ(json[3]["differs"]["optimizer.learning_rate"], "0.01");
}

}  // namespace
}  // namespace lockstep
