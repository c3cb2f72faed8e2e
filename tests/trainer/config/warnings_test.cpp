#include "trainer/config/warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/config/show.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kShortRun = R"(model: {name: mlp}
data: {type: synthetic}
training: {max_steps: 100, global_batch_size: 8, micro_batch_size: 8}
optimizer: {learning_rate: 0.5}
)";

std::vector<std::string> warnings_of(const std::vector<std::string>& overrides, std::int64_t steps,
                                     const char* text = kShortRun) {
  return config_warnings(parse_config(text, "x.yaml", built_in(), overrides), built_in(), steps);
}

TEST(ConfigWarnings, ThereAreNoneOfAGoodRun) {
  EXPECT_THAT(warnings_of({}, 100), IsEmpty());
  EXPECT_THAT(
      warnings_of({"scheduler.warmup_steps=99", "eval.interval=10", "early_stopping.patience=8",
                   "training.on_nonfinite=skip", "training.max_skipped_steps=5"},
                  100),
      IsEmpty());
  EXPECT_THAT(
      warnings_of({"scheduler.warmup_steps=50", "early_stopping.patience=5", "eval.interval=50"},
                  0),
      IsEmpty())
      << "of no steps nothing is expected";
}

TEST(ConfigWarnings, TellOfAWarmUpThatTakesAllSteps) {
  EXPECT_THAT(warnings_of({"scheduler.warmup_steps=200"}, 100),
              ElementsAre("command line: scheduler.warmup_steps=200: 'scheduler.warmup_steps' 200 "
                          "takes all of the run's 100 steps: the learning rate rises to 0.25 of "
                          "'optimizer.learning_rate' 0.5, and the run ends; lower it or raise "
                          "'training.max_steps'"));
  EXPECT_EQ(warnings_of({"scheduler.warmup_steps=100"}, 100).size(), 1U);
}

TEST(ConfigWarnings, TellOfPatienceThatCannotRunOut) {
  EXPECT_THAT(
      warnings_of({"eval.interval=10", "early_stopping.patience=9"}, 100),
      ElementsAre(
          "command line: early_stopping.patience=9: 'early_stopping.patience' 9 cannot end "
          "the run: 'eval.interval' 10 makes 9 evaluations before its last step, 100; lower "
          "one of them"));
}

TEST(ConfigWarnings, TellOfKeysWithoutEffect) {
  EXPECT_THAT(warnings_of({"training.max_skipped_steps=5"}, 100),
              ElementsAre("command line: training.max_skipped_steps=5: "
                          "'training.max_skipped_steps' has no effect: with "
                          "'training.on_nonfinite: stop' no step is skipped"));
  EXPECT_EQ(warnings_of({"device.compile_cache=off", "device.compile_cache_gb=2"}, 100).size(), 1U);
  EXPECT_EQ(warnings_of({"model.name=vit", "data.type=image_folder", "data.path=x",
                         "data.crop_scale=[0.5, 1]", "data.crop_ratio=[1, 1]"},
                        100)
                .size(),
            2U);
  EXPECT_EQ(warnings_of({"model.name=vit", "data.type=image_folder", "data.path=x",
                         "data.crop_scale=[0.5, 1]", "data.random_resized_crop=true"},
                        100)
                .size(),
            0U);
  const std::vector<std::string> documents = {"model.name=gpt2",     "model.vocab_size=10",
                                              "tokenizer.type=char", "data.type=documents",
                                              "data.path=[x]",       "data.group_by_length=8"};
  EXPECT_EQ(warnings_of(documents, 100).size(), 1U) << "all are padded alike";
  std::vector<std::string> bucketed = documents;
  bucketed.insert(bucketed.end(), {"data.padding=bucket", "data.max_buckets=3"});
  EXPECT_THAT(warnings_of(bucketed, 100), IsEmpty());
  bucketed.push_back("data.buckets=[8, 16]");
  EXPECT_EQ(warnings_of(bucketed, 100).size(), 1U);
}

// Such a config has all keys.
TEST(ConfigWarnings, AreNotOfDefaultsThatAConfigRepeats) {
  const std::string shown =
      config_yaml(parse_config(kShortRun, "x.yaml", built_in()).config, built_in());
  EXPECT_THAT(warnings_of({}, 100, shown.c_str()), IsEmpty());
  EXPECT_THAT(warnings_of({"device.compile_cache=off"}, 100, shown.c_str()), IsEmpty());
}

}  // namespace
}  // namespace lockstep
