// Optimizers against closed forms: if the gradient is constant, zero or a single impulse, the
// parameter after t steps is a formula. Numbers with few bits make most of them exact.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/fixtures/error_of.h"
#include "tests/roundoff/roundoff.h"
#include "tests/trainer/optimizers/update_training.h"
#include "trainer/optimizers/adam.h"
#include "trainer/optimizers/adamw.h"
#include "trainer/optimizers/lamb.h"
#include "trainer/optimizers/lion.h"
#include "trainer/optimizers/sgd.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

const Shape kMatrix{1, 1};  // weight decay is for matrices
const Shape kVector{1};

/// The parameter after each step, from `start`, with the gradient of each step.
std::vector<double> path(const Optimizer& rule, const Shape& shape, float start,
                         const std::vector<float>& gradients) {
  UpdateTraining training(rule, {{shape, {start}}});
  std::vector<double> out;
  for (std::size_t t = 0; t < gradients.size(); ++t) {
    training.step({{gradients[t]}},
                  {.step = static_cast<std::int64_t>(t), .learning_rate = rule.learning_rate()});
    out.push_back(training.values()[0]);
  }
  return out;
}

/// formula(1), ..., formula(steps).
template <class Formula>
std::vector<double> values(int steps, const Formula& formula) {
  std::vector<double> out;
  for (int t = 1; t <= steps; ++t) out.push_back(formula(t));
  return out;
}

TEST(Sgd, GoesDownTheGradientByTheRate) {
  EXPECT_THAT(path(Sgd{.learning_rate = 0.25, .weight_decay = 0}, kMatrix, 1, {1, 2, -4}),
              ElementsAre(0.75, 0.25, 1.25));
}

/// b_t = (1 - m^t) / (1 - m); with m = 1/2 their sum is 2 t - 2 (1 - 2^-t).
TEST(Sgd, AddsUpMomentum) {
  const Sgd rule{.learning_rate = 0.25, .momentum = 0.5, .weight_decay = 0};
  EXPECT_EQ(path(rule, kMatrix, 1, std::vector<float>(10, 1)),
            values(10, [](int t) { return 1 - 0.25 * (2 * t - 2 * (1 - std::exp2(-t))); }));
}

TEST(Sgd, DecaysMatricesAsAPartOfTheGradient) {
  const Sgd rule{.learning_rate = 0.25, .weight_decay = 0.25};
  const std::vector<float> none(5, 0);
  EXPECT_EQ(path(rule, kMatrix, 1, none), values(5, [](int t) { return std::pow(15.0 / 16, t); }));
  EXPECT_EQ(path(rule, kVector, 1, none), values(5, [](int) { return 1.0; }));
}

/// The decay goes through the momentum: p_{t+1} = (1 + m - r d) p_t - m p_{t-1}. With m = 1/8 and
/// r d = 3/8 the roots are 1/2 and 1/4, and from p_0 = 1, p_1 = 5/8 comes 3/2 2^-t - 1/2 4^-t.
TEST(Sgd, CarriesTheDecayInItsMomentum) {
  const Sgd rule{.learning_rate = 0.5, .momentum = 0.125, .weight_decay = 0.75};
  EXPECT_EQ(path(rule, kMatrix, 1, std::vector<float>(8, 0)),
            values(8, [](int t) { return 1.5 * std::exp2(-t) - 0.5 * std::exp2(-2 * t); }));
}

/// The same sums b_t, of which each step takes m b_t + 1.
TEST(Sgd, LooksAheadWithNesterov) {
  const Sgd rule{.learning_rate = 0.25, .momentum = 0.5, .weight_decay = 0, .nesterov = true};
  EXPECT_EQ(path(rule, kMatrix, 1, std::vector<float>(10, 1)),
            values(10, [](int t) { return 1 - 0.25 * (t + (t - (1 - std::exp2(-t)))); }));
  EXPECT_EQ(error_of([] { (void)Sgd{.nesterov = true}.slots(); }),
            "2: Sgd: nesterov needs a momentum above 0");
}

// --- Lion: every step has the size of the rate. ---

/// With betas 3/4 and 1/2 the signs are those of 1/4, 3/4 / 2 - 1/4 = 1/8 and -3/16.
TEST(Lion, StepsByTheSignOfAMeanThatTheGradientHasAShareIn) {
  const Lion rule{.learning_rate = 0.25, .betas = {0.75, 0.5}};
  EXPECT_THAT(path(rule, kMatrix, 1, {1, -1, 0}), ElementsAre(0.75, 0.5, 0.75));
  EXPECT_THAT(path(rule, kMatrix, 1, {0, 0}), ElementsAre(1, 1)) << "the sign of 0 is 0";
  EXPECT_THAT(path(rule, kMatrix, 1, {1e-15F, -1e15F}), ElementsAre(0.75, 1));
}

TEST(Lion, DecaysMatricesBesideTheGradient) {
  const Lion rule{.learning_rate = 0.25, .weight_decay = 0.25};
  const std::vector<float> none(5, 0);
  EXPECT_EQ(path(rule, kMatrix, 1, none), values(5, [](int t) { return std::pow(15.0 / 16, t); }));
  EXPECT_EQ(path(rule, kVector, 1, none), values(5, [](int) { return 1.0; }));
}

// --- AdamW. Its factors are no short numbers, so what it may round is bounded. In step t, t
// multiplications and additions, with constants rounded once, make each moment from terms of one
// sign (3 t roundings for the first, one more for the square in the second, of which the root takes
// half); the update takes eight more. The parameter is rounded three times a step. ---

/// How far p_T may be from p_0 - sum of updates, |p| <= `largest`.
double bound(const std::vector<double>& updates, double largest) {
  double out = 0;
  for (std::size_t t = 1; t <= updates.size(); ++t)
    out += gamma(5 * static_cast<double>(t) + 9, 0x1p-24) * std::abs(updates[t - 1]) +
           gamma(3, 0x1p-24) * largest;
  return out;
}

/// p_t = q p_{t-1} - u_t, q = 1 - rate decay, for the updates u_t that a formula gives.
template <class Update>
void expect_updates(const AdamW& rule, const Shape& shape, const std::vector<float>& gradients,
                    const Update& update) {
  constexpr float kStart = 1;
  const bool decayed = shape == kMatrix;
  const double q = decayed ? 1 - rule.learning_rate * rule.weight_decay : 1;
  const std::vector<double> got = path(rule, shape, kStart, gradients);
  std::vector<double> updates;
  double p = kStart;
  double largest = kStart;
  for (std::size_t t = 1; t <= gradients.size(); ++t) {
    updates.push_back(update(static_cast<double>(t)));
    p = q * p - updates.back();
    largest = std::max(largest, std::abs(p));
    EXPECT_NEAR(got[t - 1], p, bound(updates, largest)) << "step " << t;
  }
}

/// Of a constant gradient g both moments, corrected, are g and g^2 at every step.
TEST(AdamW, CorrectsTheBiasOfBothMoments) {
  const AdamW rule{.learning_rate = 0.01, .eps = 1e-8, .weight_decay = 0};
  for (const float g : {3.0F, -0.02F})
    expect_updates(rule, kMatrix, std::vector<float>(20, g),
                   [g](double) { return 0.01 * g / (std::abs(g) + 1e-8); });
}

/// Of g = eps every update is half the rate: eps is added to the corrected root.
TEST(AdamW, AddsEpsToTheRootOfTheCorrectedSecondMoment) {
  const AdamW rule{.learning_rate = 0.01, .eps = 2, .weight_decay = 0};
  expect_updates(rule, kMatrix, std::vector<float>(20, 2), [](double) { return 0.005; });
}

/// After one gradient the moments die away as b1^t and b2^t.
TEST(AdamW, ForgetsEachMomentAtItsOwnRate) {
  const double b1 = 0.8;
  const double b2 = 0.95;
  const AdamW rule{.learning_rate = 0.1, .betas = {b1, b2}, .eps = 1e-8, .weight_decay = 0};
  std::vector<float> impulse(12, 0);
  impulse[0] = 4;
  expect_updates(rule, kMatrix, impulse, [&](double t) {
    const double m = 4 * (1 - b1) * std::pow(b1, t - 1) / (1 - std::pow(b1, t));
    const double v = 16 * (1 - b2) * std::pow(b2, t - 1) / (1 - std::pow(b2, t));
    return 0.1 * m / (std::sqrt(v) + 1e-8);
  });
}

/// Decoupled: what decays never passes through the moments.
TEST(AdamW, DecaysMatricesBesideTheGradient) {
  const AdamW rule{.learning_rate = 0.25, .weight_decay = 0.25};
  const std::vector<float> none(5, 0);
  EXPECT_EQ(path(rule, kMatrix, 1, none), values(5, [](int t) { return std::pow(15.0 / 16, t); }));
  EXPECT_EQ(path(rule, kVector, 1, none), values(5, [](int) { return 1.0; }));
  const AdamW both{.learning_rate = 0.05, .weight_decay = 0.5};
  expect_updates(both, kMatrix, std::vector<float>(20, 3),
                 [](double) { return 0.05 * 3 / (3 + 1e-8); });
}

// --- Adam is AdamW but for the decay, which the moments see. ---

TEST(Adam, IsAdamWWithoutDecay) {
  const std::vector<float> gradients{3, -0.02F, 0, 1e-3F, -5};
  EXPECT_EQ(path(Adam{.learning_rate = 0.01}, kMatrix, 1, gradients),
            path(AdamW{.learning_rate = 0.01, .weight_decay = 0}, kMatrix, 1, gradients));
}

/// The first update is the rate, whatever the decay: the moments take out its size.
TEST(Adam, DecaysMatricesAsAPartOfTheGradient) {
  const Adam rule{.learning_rate = 0.125, .weight_decay = 0.25};
  EXPECT_NEAR(path(rule, kMatrix, 1, {0})[0], 0.875, bound({0.125}, 1));
  EXPECT_EQ(path(rule, kVector, 1, std::vector<float>(5, 0)), values(5, [](int) { return 1.0; }));
}

// --- LAMB. ---

/// Of a constant gradient u is 1 without its eps, and a matrix of one number has |p| = p: a step
/// takes the share `rate` of it. Each of the 5 steps has Adam's roundings and 8 of the norms.
TEST(Lamb, StepsByAShareOfTheNormOfAMatrix) {
  const Lamb rule{.learning_rate = 0.125, .eps = 1e-30, .weight_decay = 0};
  const std::vector<double> got = path(rule, kMatrix, 2, std::vector<float>(5, 3));
  for (int t = 1; t <= 5; ++t)
    EXPECT_NEAR(got[static_cast<std::size_t>(t) - 1], 2 * std::pow(0.875, t),
                gamma(5 * (5 * 5 + 9 + 8), 0x1p-24) * 2);
}

TEST(Lamb, TakesTheStepItselfOfAVectorAndOfAMatrixOfZeros) {
  const Lamb rule{.learning_rate = 0.125, .eps = 1e-30, .weight_decay = 0.5};
  EXPECT_NEAR(path(rule, kVector, 2, {3})[0], 1.875, bound({0.125}, 2));
  EXPECT_NEAR(path(rule, kMatrix, 0, {3})[0], -0.125, bound({0.125}, 1));
  EXPECT_THAT(path(rule, kMatrix, 0, {0}), ElementsAre(0)) << "nothing is divided by 0";
}

/// u = p / 2 then, and |p| / |u| u = p.
TEST(Lamb, HasTheDecayInWhatItScales) {
  const Lamb rule{.learning_rate = 0.125, .weight_decay = 0.5};
  EXPECT_THAT(path(rule, kMatrix, 2, {0, 0}), ElementsAre(1.75, 1.53125));
}

// --- What optimizer_step makes of the gradients before any rule sees them. ---

/// Sums over 4 samples of a matrix and a vector: the mean gradient is (3, 4), its norm 5.
std::vector<double> clipped(double clip_norm) {
  UpdateTraining training(Sgd{.weight_decay = 0}, {{kMatrix, {8}}, {kVector, {8}}});
  const StepSummary summary =
      training.step({{12}, {16}}, {.clip_norm = clip_norm, .learning_rate = 1}, 4);
  EXPECT_EQ(summary.grad_norm, 5) << "the mean's, before it is clipped";
  return {training.values(0)[0], training.values(1)[0]};
}

TEST(Clipping, LeavesAGradientThatIsShortEnough) {
  EXPECT_THAT(clipped(0), ElementsAre(5, 4)) << "0 is no limit";
  EXPECT_THAT(clipped(8), ElementsAre(5, 4));
}

TEST(Clipping, ScalesAllParametersByOneFactor) {
  const double factor = 2 / (5 + 1e-6);
  const std::vector<double> got = clipped(2);
  // The factor is rounded four times (1e-6, sum, quotient, times 1/4), the update twice.
  EXPECT_NEAR(got[0], 8 - 3 * factor, gamma(6, 0x1p-24) * 8);
  EXPECT_NEAR(got[1], 8 - 4 * factor, gamma(6, 0x1p-24) * 8);
}

}  // namespace
}  // namespace lockstep
