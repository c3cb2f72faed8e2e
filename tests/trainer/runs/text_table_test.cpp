// Tables for a terminal and for spreadsheets.
#include "trainer/runs/text_table.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(TextTable, AlignsItsColumns) {
  const TextTable table{.columns = {{"name"}, {"empty"}, {"step", true}},
                        .rows = {{"a", "", "5"}, {"long", "", "1000"}}};
  EXPECT_EQ(table.aligned(),
            "name  step\n"
            "a        5\n"
            "long  1000\n");
}

TEST(TextTable, CountsCharactersAndShowsControlsAsText) {
  const TextTable table{.columns = {{"n"}, {"x"}}, .rows = {{"é", "1"}, {"a\x1b", "2"}}};
  EXPECT_EQ(table.aligned(),
            "n      x\n"
            "é      1\n"
            "a\\x1b  2\n");
}

TEST(TextTable, QuotesCellsOfCsv) {
  const TextTable table{.columns = {{"a"}, {"b,c"}}, .rows = {{"1", "say \"x\"\n"}}};
  EXPECT_EQ(table.csv(), "a,\"b,c\"\r\n1,\"say \"\"x\"\"\n\"\r\n");
}

TEST(CutToWidth, LeavesWholeCharacters) {
  EXPECT_EQ(cut_to_width("short", 5), "short");
  EXPECT_EQ(cut_to_width("longer", 5), "lo...");
  EXPECT_EQ(cut_to_width("éééééé", 5), "éé...");
}

}  // namespace
}  // namespace lockstep
