#include "trainer/telemetry/ledger_file.h"

#include <nlohmann/json.hpp>

#include "core/trace/ops.h"
#include "tests/core/engine/rank.h"

namespace lockstep {
namespace {

TEST(LedgerFile, HoldsStepsRowsAndCommandsThatSumToTheStep) {
  Rank rank;
  Ledger ledger(rank.engine.programs());
  rank.spans.listen(ledger, Ledger::kKinds);
  const Tensor p = rank.variable({1, 2});
  Tensor state = p;
  for (int i = 0; i < 4; ++i) {
    state.assign(state * state);
    rank.engine.mark_step();
    rank.engine.wait();  // the device reads the clock as each step ends
    rank.clock.advance_ns(2'000'000);
  }
  rank.engine.wait();
  const auto json = nlohmann::json::parse(to_json(ledger));
  EXPECT_EQ(json["steps"], json["step_ms"].size());
  double rows = 0;
  double percents = 0;
  for (const auto& row : json["rows"]) {
    rows += row["ms"].get<double>();
    percents += row["percent"].get<double>();
  }
  EXPECT_NEAR(rows, json["mean_step_ms"], 1e-9);
  EXPECT_NEAR(percents, 100, 1e-6);
  ASSERT_FALSE(json["commands"].empty());
  EXPECT_NE(json["commands"][0]["detail"].get<std::string>().find("ledger_file_test.cpp"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep
