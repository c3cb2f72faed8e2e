#include "trainer/telemetry/cuts_file.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/error.h"

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

}  // namespace
}  // namespace lockstep
