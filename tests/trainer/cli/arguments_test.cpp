#include "trainer/cli/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

const std::vector<Option> kOptions{{"resume", "PATH", "go on", "auto"},
                                   {"dry-run", "", "only look"},
                                   {"seed", "S", "of the choice"}};

Arguments arguments_of(const std::vector<std::string>& words) {
  return Arguments(words, kOptions);
}

TEST(Arguments, ResumeAloneMeansAuto) {
  EXPECT_EQ(arguments_of({"c.yaml", "--resume"}).value("resume"), "auto");
  EXPECT_EQ(arguments_of({"c.yaml"}).value("resume"), std::nullopt);
}

TEST(Arguments, ResumeTakesAValueWithAnEqualsSignOnly) {
  EXPECT_EQ(arguments_of({"c.yaml", "--resume=a.h5"}).value("resume"), "a.h5");
  const Arguments arguments = arguments_of({"c.yaml", "--resume", "training.max_steps=10"});
  EXPECT_EQ(arguments.value("resume"), "auto");
  EXPECT_THAT(arguments.positionals(), ElementsAre("c.yaml", "training.max_steps=10"));
}

TEST(Arguments, OptionsMayStandAnywhere) {
  const Arguments arguments = arguments_of({"--dry-run", "c.yaml", "--seed", "7", "a.b=1"});
  EXPECT_TRUE(arguments.has("dry-run"));
  EXPECT_EQ(arguments.value("seed"), "7");
  EXPECT_THAT(arguments.positionals(), ElementsAre("c.yaml", "a.b=1"));
}

TEST(Arguments, ValuesMayBeginWithADash) {
  EXPECT_EQ(arguments_of({"--seed", "-5"}).value("seed"), "-5");
  EXPECT_EQ(arguments_of({"--seed=--x"}).value("seed"), "--x");
}

TEST(Arguments, ValuesMayHoldAnything) {
  EXPECT_EQ(arguments_of({"--seed", ""}).value("seed"), "");
  EXPECT_EQ(arguments_of({"--seed", "a b\n=\"ü\""}).value("seed"), "a b\n=\"ü\"");
}

TEST(Arguments, AfterTwoDashesEverythingIsPositional) {
  EXPECT_THAT(arguments_of({"--", "--dry-run", "-x"}).positionals(),
              ElementsAre("--dry-run", "-x"));
}

TEST(Arguments, AnOptionIsNotTheValueOfAnother) {
  EXPECT_THROW(arguments_of({"--seed", "--dry-run"}), Error);
  EXPECT_THROW(arguments_of({"--seed"}), Error);
}

TEST(Arguments, IntegersAreWholeAndInRange) {
  EXPECT_EQ(arguments_of({"--seed", "-5"}).integer("seed", -5, 5), -5);
  EXPECT_EQ(arguments_of({}).integer("seed", -5, 5), std::nullopt);
  for (const char* text : {"", " 1", "1 ", "1.0", "0x1", "6", "-6", "99999999999999999999"})
    EXPECT_THROW(arguments_of({"--seed", text}).integer("seed", -5, 5), Error) << text;
}

}  // namespace
}  // namespace lockstep
