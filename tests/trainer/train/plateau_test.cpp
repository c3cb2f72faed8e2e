#include "trainer/train/plateau.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace lockstep {
namespace {

using testing::ElementsAre;

constexpr BetterMetric kFalls = BetterMetric::kMin;

SchedulerConfig halving(std::int64_t patience, std::int64_t cooldown = 0, double min_lr = 0) {
  return {.name = SchedulerName::kPlateau,
          .min_lr = min_lr,
          .factor = 0.5,
          .patience = patience,
          .threshold = 0.25,
          .cooldown = cooldown};
}

/// The scale after each evaluation.
std::vector<double> scales(Plateau plateau, const std::vector<double>& values) {
  std::vector<double> out;
  for (const double value : values) {
    plateau.add(value);
    out.push_back(plateau.scale());
  }
  return out;
}

TEST(Plateau, HalvesTheRateAfterMoreThanPatienceEvaluationsWithoutImprovement) {
  EXPECT_THAT(scales(Plateau(halving(1), kFalls, 1, {}), {4, 4, 4, 4, 4, 4}),
              ElementsAre(1, 1, 0.5, 0.5, 0.25, 0.25));
  EXPECT_THAT(scales(Plateau(halving(1), kFalls, 1, {}), {4, 4, 2, 2, 2}),
              ElementsAre(1, 1, 1, 1, 0.5));
}

TEST(Plateau, CountsOnlyImprovementsByMoreThanTheThreshold) {
  EXPECT_THAT(scales(Plateau(halving(0), kFalls, 1, {}), {4, 3, 2.99}), ElementsAre(1, 0.5, 0.5));
  EXPECT_THAT(scales(Plateau(halving(0), BetterMetric::kMax, 1, {}), {4, 5, 5.01}),
              ElementsAre(1, 0.5, 0.5));
  EXPECT_THAT(scales(Plateau(halving(0), kFalls, 1, {}), {4, NAN}), ElementsAre(1, 0.5));
}

TEST(Plateau, DoesNotCountDuringTheCooldown) {
  EXPECT_THAT(scales(Plateau(halving(0, 2), kFalls, 1, {}), {4, 4, 4, 4, 4}),
              ElementsAre(1, 0.5, 0.5, 0.5, 0.25));
}

TEST(Plateau, EndsAtTheLowestRate) {
  Plateau plateau(halving(0, 0, 0.3), kFalls, 1, {});
  EXPECT_THAT(scales(plateau, {4, 4, 4, 4}), ElementsAre(1, 0.5, 0.3, 0.3));
  EXPECT_FALSE(plateau.add(4));
  EXPECT_TRUE(plateau.add(4));
  EXPECT_TRUE(plateau.add(4));
  EXPECT_FALSE(plateau.add(4)) << "it cannot fall any more";
}

/// After each number of evaluations.
TEST(Plateau, GoesOnWithWhatWasSaved) {
  const std::vector<double> values{4, 4, 4, 2, 3, 3, 3, 3, 1, 1, 1, 1, 1};
  const std::vector<double> whole = scales(Plateau(halving(1, 1), kFalls, 1, {}), values);
  ASSERT_LT(whole.back(), 0.5);
  for (std::size_t saved = 0; saved <= values.size(); ++saved) {
    Plateau before(halving(1, 1), kFalls, 1, {});
    for (std::size_t i = 0; i < saved; ++i) before.add(values[i]);
    ScheduleState state{"plateau", {{"learning_rate", 1}}};
    before.note(state);
    const std::vector<double> rest =
        scales(Plateau(halving(1, 1), kFalls, 1, state),
               {values.begin() + static_cast<std::ptrdiff_t>(saved), values.end()});
    EXPECT_EQ(rest,
              std::vector<double>(whole.begin() + static_cast<std::ptrdiff_t>(saved), whole.end()));
  }
}

TEST(Plateau, LeavesOtherSchedulesAlone) {
  Plateau none({}, kFalls, 1, {});
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(none.add(4));
  ScheduleState state{"constant", {}};
  none.note(state);
  EXPECT_TRUE(state.values.empty());
  ScheduleState other{"cosine", {{"plateau_scale", 0.5}}};
  EXPECT_EQ(Plateau(halving(0), kFalls, 1, other).scale(), 1);
}

}  // namespace
}  // namespace lockstep
