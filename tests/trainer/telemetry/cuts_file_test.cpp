#include "trainer/telemetry/cuts_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "tests/fixtures/temporary_folder.h"

namespace lockstep {
namespace {

TEST(CutsFile, IsTextWhateverModulesAreCalled) {
  Cuts cuts;
  cuts.add_wait(cuts.add({.reason = "value read",
                          .line = "boxes.cpp:57",
                          .what = "f32[8,4] boxes.cpp:41 (caf\xe9)",
                          .in_step = true}),
                1'500'000);
  const auto json = nlohmann::json::parse(to_json(cuts.rows()));
  ASSERT_EQ(json.size(), 1U);
  EXPECT_EQ(json[0]["what"], "f32[8,4] boxes.cpp:41 (caf\xef\xbf\xbd)");
  EXPECT_EQ(json[0]["line"], "boxes.cpp:57");
  EXPECT_EQ(json[0]["graph_break"], true);
  EXPECT_EQ(json[0]["count"], 1);
  EXPECT_EQ(json[0]["waited_ms"], 1.5);
}

TEST(CutsFile, RefusesFiguresThatCannotBe) {
  const TemporaryFolder folder;
  const std::string path = folder.path("cuts.json");
  const auto error_of = [&](const char* count, const char* waited) {
    std::ofstream(path) << fmt::format(
        R"([{{"reason": "step end", "line": "", "what": "", "graph_break": false, "count": {},
             "waited_ms": {}, "idle_ms": 0}}])",
        count, waited);
    try {
      read_cuts(path);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(error_of("1", "0.5"), "");
  EXPECT_EQ(error_of("0", "0.5"), path + ": damaged: a count of 0");
  EXPECT_EQ(error_of("1.5", "0.5"), path + ": damaged: a count of 1.5");
  EXPECT_EQ(error_of("1", "1e300"), path + ": damaged: a time of 1e+300 ms");
  EXPECT_EQ(error_of("1", "-1"), path + ": damaged: a time of -1 ms");
}

}  // namespace
}  // namespace lockstep
