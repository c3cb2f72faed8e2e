// The options of a trainer follow the table of keys: a key that is added to it needs no edit here.
#include "trainer/train/option_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/fixtures/error_of.h"
#include "tests/ranks/on_ranks.h"
#include "trainer/config/schema.h"
#include "trainer/config/values.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

using testing::Each;
using testing::HasSubstr;

/// Gives a member another value than it has.
struct Change {
  void* object;

  void operator()(Member<std::int64_t> member) const { ++member(object); }
  void operator()(Member<double> member) const { member(object) += 0.5; }
  void operator()(Member<bool> member) const { member(object) = !member(object); }
  void operator()(Member<std::string> member) const { member(object) += "x"; }
  void operator()(const EnumMember& member) const {
    member.set(object, (member.get(object) + 1) % member.names.size());
  }
  void operator()(Member<std::vector<std::int64_t>> member) const { member(object).push_back(1); }
  /// Other lists and choices: no key of the options is one, or the test fails for it.
  template <class Other>
  void operator()(const Other&) const {}
};

std::vector<Term> terms_of_config(const Config& config) {
  return terms_of(options_of(config));
}

std::vector<std::string> values_of(const std::vector<Term>& terms) {
  std::vector<std::string> out;
  for (const Term& term : terms) out.push_back(term.key + ": " + term.value);
  return out;
}

/// What ranks with these options hear when they compare them.
std::vector<std::string> answers_to(const TrainerOptions& a, const TrainerOptions& b) {
  return errors_on_ranks(2, ErrorKind::kUsage, [&](Communicator& communicator) {
    require_agreement(communicator, terms_of(communicator.rank() == 0 ? a : b), ErrorKind::kUsage);
  });
}

TEST(OptionKeys, EveryKeyOfTheSectionsIsComparedAndSaved) {
  const Registry registry;
  const Schema schema(registry);
  int changed = 0;
  for (const ConfigKey& key : schema.keys()) {
    const Config config;
    Config other;
    const void* object = key.object_in(std::as_const(other));
    const bool is_option = object == &other.training || object == &other.scheduler ||
                           object == &other.early_stopping || object == &other.checkpoint ||
                           object == &other.logging;
    std::visit(Change{key.object_in(other)}, key.member);
    const bool differs = values_of(terms_of_config(config)) != values_of(terms_of_config(other));
    EXPECT_EQ(differs, is_option || key.path == "run.seed") << key.path;
    changed += is_option ? 1 : 0;
  }
  EXPECT_GT(changed, 15);
}

TEST(OptionKeys, RanksThatWatchTheMetricInAnotherModeAreRefused) {
  const std::vector<std::string> heard =
      answers_to({.early_stopping = {.mode = BetterMetric::kMin}},
                 {.early_stopping = {.mode = BetterMetric::kMax}});
  EXPECT_THAT(heard, Each(HasSubstr("the ranks were given different things to do:\n"
                                    "  early_stopping.mode: min on rank 0; max on rank 1")));
  EXPECT_THAT(answers_to({}, {}), Each("no error"));
}

TEST(OptionKeys, OfAResumeRanksCompareOnlyWhetherThereIsOne) {
  const auto resume = [](const std::string& text) {
    return TrainerOptions{.checkpoint = {.resume = text}};
  };
  EXPECT_THAT(answers_to(resume("a/step-1.h5"), resume("b/step-1.h5")), Each("no error"));
  EXPECT_THAT(answers_to(resume("none"), resume("auto")),
              Each(HasSubstr("checkpoint.resume: none on rank 0; auto on rank 1")));
}

TEST(OptionKeys, ThoseOfAConfigAreItsSections) {
  Config config;
  config.run = {.dir = "runs", .name = "a", .seed = 5};
  config.training.gradient_clip_norm = 0.5;
  config.scheduler.warmup_steps = 3;
  config.early_stopping.patience = 4;
  config.checkpoint.save_interval = 10;
  config.logging.interval = 7;
  const TrainerOptions options = options_of(config);
  EXPECT_EQ(options.run, "runs/a");
  EXPECT_EQ(options.seed, 5U);
  EXPECT_EQ(options.training.gradient_clip_norm, 0.5);
  EXPECT_EQ(options.scheduler.warmup_steps, 3);
  EXPECT_EQ(options.early_stopping.patience, 4);
  EXPECT_EQ(options.checkpoint.save_interval, 10);
  EXPECT_EQ(options.logging.interval, 7);
}

TEST(OptionKeys, ARateOfTheProgramTakesThePlaceOfASchedule) {
  const auto rate = [](std::int64_t) { return 0.5; };
  EXPECT_EQ(usage_error([&] { check_options({.learning_rate = rate}); }), "no error");
  EXPECT_EQ(usage_error([&] {
              check_options({.scheduler = {.name = SchedulerName::kCosine}, .learning_rate = rate});
            }),
            "TrainerOptions::learning_rate takes the place of TrainerOptions::scheduler: give one "
            "of them");
}

TEST(OptionKeys, EveryRangeOfTheTableIsCheckedUnderTheNameOfTheMember) {
  EXPECT_EQ(usage_error([] { check_options({}); }), "no error");
  EXPECT_THAT(usage_error([] { check_options({.scheduler = {.warmup_steps = -1}}); }),
              HasSubstr("'TrainerOptions::scheduler.warmup_steps' must be an integer >= 0"));
  EXPECT_THAT(usage_error([] { check_options({.run = "r", .checkpoint = {.save_interval = -2}}); }),
              HasSubstr("'TrainerOptions::checkpoint.save_interval' must be an integer >= -1"));
}

}  // namespace
}  // namespace lockstep
