// The table at the end of a run, and the entries that it leaves out.
#include "core/explain/tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

Explanation because(Cause cause, std::string subject, std::string from = "", std::string to = "") {
  Explanation out;
  out.differences.push_back({.cause = cause,
                             .subject = std::move(subject),
                             .from = std::move(from),
                             .to = std::move(to)});
  return out;
}

TEST(CauseTally, IsSilentAboutFirstProgramsAndThoseOfANewBuild) {
  CauseTally tally;
  tally.add({}, false, 1);
  tally.add({}, true, 0.1);
  tally.add(because(Cause::kBuild, "the build", "1", "2"), false, 1);
  tally.add(because(Cause::kMode, "mode", "training", "evaluation"), false, 1);
  EXPECT_EQ(tally.table(), "");
  EXPECT_EQ(tally.misses(), 4);
  EXPECT_EQ(tally.misses_of(Cause::kFirstCompile), 2);
}

TEST(CauseTally, PutsTheMostFrequentCauseFirstAndSaysWhatEndsIt) {
  CauseTally tally;
  tally.add({}, false, 2);
  tally.add(because(Cause::kConstant, "constant f32[] a.cpp:3", "1", "2"), false, 0.25);
  for (const char* length : {"60", "61"})
    tally.add(because(Cause::kInputShape, "batch.tokens[length]", "7", length), false, 1.5);
  tally.add(because(Cause::kInputShape, "batch.tokens[length]", "61", "8"), true, 0.25);
  EXPECT_EQ(
      tally.table(),
      "recompilations: 4 of 5 programs were versions of others and took 3.5 s\n"
      "  cause          compiled  loaded  seconds  what\n"
      "  input_shape           2       1     3.25  batch.tokens[length] had 4 values (7, 8, "
      "60, 61)\n"
      "  constant              1       0     0.25  constant f32[] a.cpp:3: 1 -> 2\n"
      "  input_shape: pad it to a few sizes with data.padding: bucket, or to one with max (in "
      "a program of one's own DataLoaderOptions::padding with PaddingMode::kBucket or kMax)\n"
      "  constant: " +
          std::string(remedy_of(Cause::kConstant)));
}

TEST(CauseTally, ShowsTheEndsOfALongListOfValues) {
  CauseTally tally;
  for (int n = 1; n <= 100; ++n)
    tally.add(because(Cause::kInputShape, "batch.x[0]", std::to_string(n), std::to_string(n + 1)),
              false, 0);
  EXPECT_EQ(tally.rows().at(0).describe(),
            "batch.x[0] had 64 or more values (1, 2, 3, 4, ..., 61, 62, 63, 64)");
}

TEST(CauseTally, NamesWhatElseChangedWhereThatHasNoRowOfItsOwn) {
  CauseTally tally;
  Explanation two = because(Cause::kInputShape, "batch.tokens[length]", "57", "61");
  two.differences.push_back(
      {.cause = Cause::kInputShape, .subject = "batch.mask[length]", .from = "57", .to = "61"});
  two.differences.push_back({.cause = Cause::kConstant, .subject = "constant f32[] a.cpp:3"});
  two.differences.push_back({.cause = Cause::kOpAdded, .subject = "tanh", .derived = true});
  tally.add(two, false, 1);
  tally.add(because(Cause::kConstant, "constant f32[] a.cpp:3", "1", "2"), false, 1);
  EXPECT_THAT(tally.table(), testing::HasSubstr("57 -> 61, with batch.mask[length]\n"));
}

TEST(CauseTally, CountsAValueOnceWhateverIsNotedOnItsChange) {
  CauseTally tally;
  for (int n = 0; n < 5; ++n) {
    Explanation table = because(Cause::kConstant, "constant i32[10] a.cpp:3 [0]", std::to_string(n),
                                std::to_string(n + 1));
    table.differences.front().note = "10 of 10 differ";
    EXPECT_EQ(table.text(),
              fmt::format("constant i32[10] a.cpp:3 [0]: {} -> {} (10 of 10 differ)", n, n + 1));
    tally.add(table, false, 0);
  }
  EXPECT_EQ(tally.rows().at(0).describe(),
            "constant i32[10] a.cpp:3 [0] had 6 values (0, 1, 2, 3, 4, 5)");
}

/// Numbers of the line a.cpp:3 that changed, each from a value to another.
Explanation numbers(std::initializer_list<std::pair<const char*, const char*>> changes) {
  Explanation out;
  for (const auto& [from, to] : changes)
    out.differences.push_back({.cause = Cause::kConstant,
                               .subject = "constant f32[] a.cpp:3",
                               .from = from,
                               .to = to,
                               .line = "a.cpp:3"});
  return out;
}

TEST(CauseTally, NamesAllNumbersOfOneLine) {
  CauseTally tally;
  tally.add(numbers({{"0.02", "0.45"}, {"1.9", "1.3"}}), false, 1);
  EXPECT_THAT(tally.table(),
              testing::HasSubstr(" constant f32[] a.cpp:3: 0.02 -> 0.45 and 1.9 -> 1.3\n"));
  tally.add(numbers({{"0.45", "0.6"}, {"1.3", "1.1"}}), false, 1);
  EXPECT_THAT(tally.table(),
              testing::HasSubstr(" constant f32[] a.cpp:3 had 3 values (0.02, 0.45, 0.6) and "
                                 "another had 3 values (1.1, 1.3, 1.9)\n"));
}

TEST(CauseTally, KnowsWhichNumberOfALineChangedByTheValuesItHad) {
  CauseTally tally;
  tally.add(numbers({{"1", "2"}}), false, 1);
  tally.add(numbers({{"0.1", "0.3"}}), false, 1);
  EXPECT_EQ(tally.rows().at(0).describe(), "constant f32[] a.cpp:3: 1 -> 2 and 0.1 -> 0.3");
  Explanation length = because(Cause::kInputShape, "batch.x[0]", "7", "8");
  length.differences.push_back(numbers({{"2", "3"}}).differences.front());
  tally.add(length, false, 1);
  tally.add(numbers({{"3", "4"}}), false, 1);
  EXPECT_EQ(tally.rows().at(0).describe(),
            "constant f32[] a.cpp:3 had 4 values (1, 2, 3, 4) and 0.1 -> 0.3");
  EXPECT_THAT(tally.table(), testing::HasSubstr("batch.x[0]: 7 -> 8\n"));
}

TEST(CauseTally, NamesTheValuesOfFurtherCausesThatHaveOthersThanTheMainOne) {
  Explanation three = because(Cause::kInputShape, "batch.x[0]", "7", "8");
  three.differences.push_back(
      {.cause = Cause::kInputShape, .subject = "batch.y[0]", .from = "7", .to = "8"});
  CauseTally sizes;
  sizes.add(three, false, 1);
  sizes.add(because(Cause::kConstant, "constant f32[] a.cpp:3", "5", "6"), false, 1);
  EXPECT_THAT(sizes.table(), testing::HasSubstr("batch.x[0]: 7 -> 8, with batch.y[0]\n"));
  three.differences.push_back(numbers({{"0.02", "0.01"}}).differences.front());
  CauseTally tally;
  tally.add(because(Cause::kConstant, "constant f32[] a.cpp:3", "5", "6"), false, 1);
  tally.add(three, false, 1);
  EXPECT_THAT(tally.table(),
              testing::HasSubstr("batch.x[0]: 7 -> 8, with batch.y[0]; also constant "
                                 "f32[] a.cpp:3: 0.02 -> 0.01\n"))
      << "its own row has other values";
}

TEST(CauseTally, SaysHowManyFurtherCausesItLeavesOut) {
  Explanation many = because(Cause::kInputShape, "batch.x[0]", "7", "8");
  for (int n = 0; n < 11; ++n)
    many.differences.push_back({.cause = Cause::kConstant,
                                .subject = fmt::format("constant f32[] a.cpp:{}", n),
                                .from = "1",
                                .to = "2"});
  CauseTally tally;
  tally.add(many, false, 1);
  EXPECT_THAT(tally.table(), testing::HasSubstr("a.cpp:7: 1 -> 2 and 3 more\n"));
}

TEST(CauseTally, SaysWhatEndsEachOfSeveralCauses) {
  CauseTally tally;
  Explanation two = because(Cause::kInputShape, "batch.tokens[length]", "57", "61");
  two.differences.push_back({.cause = Cause::kConstant, .subject = "constant f32[] a.cpp:3"});
  two.differences.push_back({.cause = Cause::kBucket, .subject = "batch.mask[length]"});
  EXPECT_THAT(two.remedies(),
              testing::ElementsAre(remedy_of(Cause::kInputShape), remedy_of(Cause::kConstant)))
      << "another bucket is expected";
  tally.add(two, false, 1);
  for (const Cause cause : {Cause::kInputShape, Cause::kConstant})
    EXPECT_THAT(tally.table(), testing::HasSubstr(std::string(remedy_of(cause))));
  EXPECT_THAT(tally.rows().at(0).remedies(),
              testing::ElementsAre(remedy_of(Cause::kInputShape), remedy_of(Cause::kConstant)));
}

TEST(CauseTally, HasOneRowForWhatGrowsFromStepToStep) {
  CauseTally tally;
  for (int n = 1; n <= 5; ++n) {
    tally.add(because(Cause::kInputShape, fmt::format("input {} (f32[{},8], made before)[0]", n, n),
                      std::to_string(n), std::to_string(n + 1)),
              false, 0);
    tally.add(because(Cause::kConstant, fmt::format("constant i32[{}] a.cpp:3", n),
                      fmt::format("i32[{}]", n), fmt::format("i32[{}]", n + 1)),
              false, 0);
  }
  ASSERT_EQ(tally.rows().size(), 2U);
  EXPECT_EQ(tally.rows()[0].describe(),
            "an input (f32, made before)[0] had 6 values (1, 2, 3, 4, 5, 6)");
  EXPECT_EQ(tally.rows()[1].main().subject, "constant i32 a.cpp:3");
}

TEST(CauseTally, HasOneRowForWhatALineAddsEachTime) {
  CauseTally tally;
  for (int n = 1; n <= 5; ++n) {
    Explanation more = because(Cause::kInputs, fmt::format("history.{} f32[8]", n), "",
                               fmt::format("is a new input of concatenate f32[{}]", 8 * n));
    more.differences.front().line = "a.cpp:3";
    tally.add(more, false, 0);
  }
  ASSERT_EQ(tally.rows().size(), 1U);
  EXPECT_EQ(tally.rows()[0].misses(), 5);
}

TEST(CauseTally, KeepsAFewRowsWhateverComes) {
  CauseTally tally;
  for (int n = 0; n < 1000; ++n)
    tally.add(because(Cause::kOpAdded, fmt::format("exp f32[2] a.cpp:{}", n)), false, 0);
  EXPECT_EQ(tally.rows().size(), CauseTally::kMaxRows);
  EXPECT_EQ(tally.misses_of(Cause::kOpAdded), 1000);
}

TEST(Cause, HasANameForEachOfTheClosedList) {
  std::vector<std::string_view> names;
  for (int i = 0; i < kCauseCount; ++i) {
    names.push_back(name_of(static_cast<Cause>(i)));
    EXPECT_EQ(parse_cause(names.back()), static_cast<Cause>(i));
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("first_compile", "input_shape", "input_dtype",
                                                   "inputs", "constant", "op_added", "op_removed",
                                                   "op_order", "attribute", "output_set", "mode",
                                                   "value_read", "bucket", "options", "isa",
                                                   "build", "evicted", "damaged_entry"));
  EXPECT_EQ(parse_cause("weather"), std::nullopt);
}

}  // namespace
}  // namespace lockstep
