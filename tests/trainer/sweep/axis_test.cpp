// The values of a sweep's keys.
#include "trainer/sweep/axis.h"

#include <gmock/gmock.h>

#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> spaced(const std::string& word, bool whole = false) {
  const SweepAxis axis = parse_axis(word);
  return axis.range ? axis.range->spaced(whole) : axis.values;
}

TEST(SweepAxis, IsAList) {
  EXPECT_THAT(spaced("a.b=1,2,x"), ElementsAre("1", "2", "x"));
  EXPECT_THAT(spaced("a.b=[1,2],[3]"), ElementsAre("[1,2]", "[3]"));
  EXPECT_TRUE(parse_axis("a.b=1").is_fixed());
  EXPECT_FALSE(parse_axis("a.b=1,2").is_fixed());
}

TEST(SweepAxis, IsALogarithmicRange) {
  EXPECT_THAT(spaced("a=log:1e-4..1e-2:5"),
              ElementsAre("0.0001", "0.0003162", "0.001", "0.003162", "0.01"));
  EXPECT_THAT(spaced("a=log:16..64:3", true), ElementsAre("16", "32", "64"));
}

TEST(SweepAxis, IsALinearRange) {
  EXPECT_THAT(spaced("a=lin:-1..1:3"), ElementsAre("-1", "0", "1"));
  EXPECT_THAT(spaced("a=lin:1..3:5", true), ElementsAre("1", "2", "3")) << "equal integers once";
}

TEST(SweepAxis, DrawsBetweenTheEndsOfARange) {
  const ValueRange range = *parse_axis("a=log:1e-4..1").range;
  EXPECT_EQ(range.count, 0);
  EXPECT_EQ(range.at(0, false), "0.0001");
  EXPECT_EQ(range.at(0.5, false), "0.01");
  EXPECT_EQ(range.at(1, false), "1");
}

TEST(SweepAxis, RefusesWhatItCannotRead) {
  const auto refusal = [](const std::string& word) {
    return usage_error([&] { parse_axis(word); });
  };
  EXPECT_THAT(refusal("a"), HasSubstr("'a' is no key with values; write key=a,b,c"));
  EXPECT_THAT(refusal("a="), HasSubstr("'a=' is no key with values"));
  EXPECT_EQ(refusal("a=1,,2"), "a=1,,2: a value is empty");
  EXPECT_EQ(refusal("a=1,2,1"), "a=1,2,1: '1' is listed twice");
  EXPECT_THAT(refusal("a=log:1"), HasSubstr("a range has two ends"));
  EXPECT_EQ(refusal("a=log:x..2:3"),
            "a=log:x..2:3: the ends of a range are numbers, not 'x' and '2'");
  EXPECT_EQ(refusal("a=lin:2..1:3"), "a=lin:2..1:3: the range begins with 2, which is not below 1");
  EXPECT_EQ(refusal("a=log:0..1:3"),
            "a=log:0..1:3: a logarithmic range begins above 0, not with 0");
  EXPECT_THAT(refusal("a=lin:1..2:1"), HasSubstr("an integer from 2 to"));
  EXPECT_THAT(refusal("a=lin:1..2:x"), HasSubstr("not 'x'"));
}

}  // namespace
}  // namespace lockstep
