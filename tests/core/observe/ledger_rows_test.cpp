#include "core/observe/ledger_rows.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <numeric>

namespace lockstep {
namespace {

LedgerRow bundle(const char* work, const char* op, const char* module, const char* line,
                 double ms) {
  return {.program = "gradient",
          .work = work,
          .op = op,
          .module = module,
          .line = line,
          .ms = ms,
          .min_ms = ms / 2,
          .lower_bound_ms = ms / 4,
          .commands = 1,
          .flops = 10,
          .bytes = 20,
          .virtual_ms = 1,
          .virtual_lower_bound_ms = 0.5};
}

std::vector<LedgerRow> two_layers() {
  return {bundle("dot", "dot f32[2]", "h.0", "gpt.cpp:1", 3),
          bundle("dot", "dot f32[2]", "h.1", "gpt.cpp:1", 4),
          bundle("fused", "exp f32[2]", "h.0", "gpt.cpp:2", 2),
          {.program = "step", .work = "idle", .ms = 4.5}};
}

/// "work op module line: ms places" of each.
std::vector<std::string> grouped(GroupBy by) {
  std::vector<std::string> out;
  for (const LedgerRow& row : group_rows(two_layers(), by))
    out.push_back(fmt::format("{} {}|{}|{}|{}: {} x{}", row.program, row.work, row.op, row.module,
                              row.line, row.ms, row.places));
  return out;
}

TEST(LedgerRows, PutLikeBundlesTogether) {
  using testing::ElementsAre;
  EXPECT_THAT(grouped(GroupBy::kClass),
              ElementsAre("gradient dot|dot f32[2]||gpt.cpp:1: 7 x2", "step idle|||: 4.5 x1",
                          "gradient fused|exp f32[2]|h.0|gpt.cpp:2: 2 x1"));
  EXPECT_THAT(grouped(GroupBy::kOp),
              ElementsAre("gradient dot|dot f32[2]|h.1|gpt.cpp:1: 7 x2", "step idle|||: 4.5 x1",
                          "gradient fused|exp f32[2]|h.0|gpt.cpp:2: 2 x1"));
  EXPECT_THAT(grouped(GroupBy::kModule),
              ElementsAre("gradient ||h.0|: 5 x2", "step idle|||: 4.5 x1",
                          "gradient dot|dot f32[2]|h.1|gpt.cpp:1: 4 "
                          "x1"));
  EXPECT_THAT(grouped(GroupBy::kLine),
              ElementsAre("gradient dot|dot f32[2]||gpt.cpp:1: 7 x2", "step idle|||: 4.5 x1",
                          "gradient fused|exp f32[2]|h.0|gpt.cpp:2: 2 x1"));
}

TEST(LedgerRows, KeepAllAmountsUnderAnyGrouping) {
  for (const GroupBy by : {GroupBy::kClass, GroupBy::kOp, GroupBy::kModule, GroupBy::kLine}) {
    LedgerRow sum;
    for (const LedgerRow& row : group_rows(two_layers(), by)) add_amounts(row, sum);
    EXPECT_EQ(sum.ms, 13.5) << name_of(by);
    EXPECT_EQ(sum.min_ms, 4.5);
    EXPECT_EQ(sum.lower_bound_ms, 2.25);
    EXPECT_EQ(sum.commands, 3);
    EXPECT_EQ(sum.flops, 30);
    EXPECT_EQ(sum.bytes, 60);
    EXPECT_EQ(sum.virtual_ms, 3);
    EXPECT_EQ(sum.virtual_lower_bound_ms, 1.5);
  }
}

TEST(LedgerRows, GroupingsAreKnownByName) {
  for (const GroupBy by : {GroupBy::kClass, GroupBy::kOp, GroupBy::kModule, GroupBy::kLine})
    EXPECT_EQ(parse_group_by(name_of(by)), by);
  EXPECT_EQ(parse_group_by("layer"), std::nullopt);
}

}  // namespace
}  // namespace lockstep
