// Rates of training steps: what step_cost() makes of them, and that a fit finds those again that
// made the steps.
#include "trainer/calibrate/step_rates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "trainer/apps/run_planner.h"
#include "trainer/calibrate/sample_models.h"
#include "trainer/config/load.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

struct StepRatesTest : testing::Test {
  static MachineLimits measured_limits() {
    MachineLimits out = default_limits({"model", "Test CPU", 2, Isa::kAvx2, Bf16Units::kNone});
    out.steps.sums_bytes_per_s = 8e9;
    for (const int ranks : {1, 2}) {
      for (int i = 0; i < kWorkClassCount; ++i) {
        const auto work = static_cast<WorkClass>(i);
        out.steps.work.push_back({std::string(name_of(work)),
                                  DType::kF32,
                                  {1, ranks},
                                  1.25 + 0.5 * i + 0.25 * ranks,
                                  work == WorkClass::kAttention ? 5e-11 : 0,
                                  work == WorkClass::kFused ? 2e-6 : 0});
      }
      out.steps.overheads.push_back({{1, ranks}, ranks * 1e-7, (ranks - 1) * 0.03});
    }
    return out;
  }

  static std::shared_ptr<const CompiledStep> plan(const SampleModel& model) {
    const Registry registry = built_in();
    return plan_config(parse_config(model.config, std::string(model.name), registry).config,
                       registry)
        .step;
  }

  static StepPlacement placed(int ranks, int nodes = 1) {
    StepPlacement out;
    out.cores = {1, ranks};
    out.nodes = nodes;
    out.link = {1e8, 1e-4};
    out.micro_batches = 2 / ranks;
    return out;
  }

  const MachineLimits limits = measured_limits();
  std::shared_ptr<const CompiledStep> text = plan(sample_models()[1]);
};

double total(const std::array<double, kWorkClassCount>& seconds) {
  double out = 0;
  for (const double each : seconds) out += each;
  return out;
}

TEST_F(StepRatesTest, WithoutRatesAStepTakesItsLowerBounds) {
  MachineLimits bare = limits;
  bare.steps = {};
  const StepCost cost = step_cost(*text, bare, placed(1));
  double bounds = 0;
  const BundleSeconds seconds = lower_bounds_of_bundles(bare, {1, 1});
  for (const WorkCost& each : cost_by_class(text->gradient, seconds)) bounds += 2 * each.seconds;
  for (const WorkCost& each : cost_by_class(text->update, seconds)) bounds += each.seconds;
  EXPECT_NEAR(cost.seconds, bounds, 2e-9) << "durations are rounded to nanoseconds";
  for (std::size_t i = 0; i < cost.work.size(); ++i)
    EXPECT_EQ(cost.work[i], cost.bounds[i].seconds);
}

TEST_F(StepRatesTest, AStepHasTheFactorsOfItsClasses) {
  const StepCost cost = step_cost(*text, limits, placed(1));
  const auto dot = static_cast<std::size_t>(WorkClass::kDot);
  EXPECT_DOUBLE_EQ(cost.work[dot], 1.5 * cost.bounds[dot].seconds);
  const auto attention = static_cast<std::size_t>(WorkClass::kAttention);
  EXPECT_DOUBLE_EQ(cost.work[attention],
                   2.5 * cost.bounds[attention].seconds + 5e-11 * cost.bounds[attention].bytes);
  const auto fused = static_cast<std::size_t>(WorkClass::kFused);
  EXPECT_DOUBLE_EQ(cost.work[fused], 4 * cost.bounds[fused].seconds +
                                         2e-6 * static_cast<double>(cost.bounds[fused].bundles));
  EXPECT_DOUBLE_EQ(cost.sums, static_cast<double>(text->reduction.bytes) / 8e9);
  EXPECT_DOUBLE_EQ(cost.overhead, 1e-7 * static_cast<double>(text->step.nodes.size()));
  EXPECT_EQ(cost.exposed, 0);
  EXPECT_DOUBLE_EQ(step_cost(*text, limits, placed(2)).waits,
                   0.03 * step_cost(*text, limits, placed(2)).commands());
}

/// Data on the link: of N bytes each of two nodes sends N.
TEST_F(StepRatesTest, BetweenNodesALinkTakesWhatItMust) {
  StepPlacement placement = placed(1, 2);
  const StepCost hidden = step_cost(*text, limits, placement);
  placement.overlap = false;
  const StepCost after = step_cost(*text, limits, placement);
  const double on_link = 1e-4 * static_cast<double>(text->reduction.buckets.size()) +
                         static_cast<double>(text->reduction.bytes) * 1514 / 1448 / 1e8;
  EXPECT_NEAR(after.exposed, on_link, 1e-3 * on_link) << "but for padding";
  EXPECT_EQ(after.all_reduce, hidden.all_reduce);
  EXPECT_LT(hidden.exposed, after.exposed);
  placement.link.bytes_per_s = 1e30;
  placement.link.latency_s = 0;
  EXPECT_EQ(step_cost(*text, limits, placement).exposed, 0);
}

TEST_F(StepRatesTest, AFitFindsTheRatesThatMadeTheSteps) {
  std::vector<MeasuredStep> steps;
  for (const std::size_t m : {0U, 1U, 2U, 4U}) {
    const SampleModel& model = sample_models()[m];
    for (const int ranks : {1, 2}) {
      MeasuredStep step{std::string(model.name), plan(model), placed(ranks)};
      const StepCost cost = step_cost(*step.step, limits, step.placement);
      step.seconds = cost.seconds;
      step.work = cost.work;
      step.sums = cost.sums;
      steps.push_back(std::move(step));
    }
  }
  const StepRates found = fit_step_rates(steps, limits);
  for (const WorkFactor& row : found.work) {
    const WorkFactor made = work_factor(limits.steps, row.work, row.math, row.cores);
    EXPECT_NEAR(row.factor, made.factor, 1e-9 * row.factor)
        << row.work << " on " << row.cores.ranks;
    EXPECT_NEAR(row.byte_seconds, made.byte_seconds, 1e-9 * made.byte_seconds) << row.work;
    EXPECT_NEAR(row.bundle_seconds, made.bundle_seconds, 1e-12) << row.work;
  }
  EXPECT_NEAR(found.sums_bytes_per_s, 8e9, 1);
  for (const BusyCores cores : {BusyCores{1, 1}, {1, 2}}) {
    // A step's time is rounded to some nanoseconds, and it has hundreds of nodes.
    EXPECT_NEAR(step_overhead(found, cores).node_seconds, cores.ranks * 1e-7, 1e-11);
    EXPECT_NEAR(step_overhead(found, cores).waits, (cores.ranks - 1) * 0.03, 1e-8);
  }
  EXPECT_GT(found.deviation, 0) << "convolutions are in one model only";
}

TEST_F(StepRatesTest, NoTermOfAFitIsNegative) {
  std::vector<MeasuredStep> steps;
  for (const std::size_t m : {0U, 1U, 2U}) {
    const SampleModel& model = sample_models()[m];
    const double quicker = m == 1 ? 2 : 1;  // the model of the smallest work
    MeasuredStep step{std::string(model.name), plan(model), placed(1)};
    MachineLimits bare = limits;
    bare.steps = {};
    const StepCost cost = step_cost(*step.step, bare, step.placement);
    for (std::size_t i = 0; i < step.work.size(); ++i)
      step.work[i] = cost.bounds[i].seconds / quicker;
    step.seconds = 2 * cost.seconds;
    steps.push_back(std::move(step));
  }
  const StepRates found = fit_step_rates(steps, limits);
  for (const WorkFactor& row : found.work) {
    EXPECT_GT(row.factor, 0) << row.work;
    EXPECT_LE(row.factor, 1) << row.work;
    EXPECT_GE(row.byte_seconds, 0) << row.work;
    EXPECT_GE(row.bundle_seconds, 0) << row.work;
  }
  const WorkFactor fused = work_factor(found, "fused", DType::kF32, {1, 1});
  EXPECT_EQ(fused.bundle_seconds, 0) << "small work was the quicker one";
  EXPECT_LT(fused.factor, 1);
}

TEST_F(StepRatesTest, AMeasuredStepIsTheQuickestInTheProportionsOfAll) {
  RankProfile profile;
  profile.mean_step_ms = 4;
  profile.step_ms = {6, 2, 4};
  profile.rows = {{.program = "gradient", .work = "dot", .ms = 2},
                  {.program = "step", .work = "gradient sums", .ms = 1},
                  {.program = "step", .work = "other", .ms = 1}};
  const MeasuredStep step = measured_step(std::vector{profile, profile}, "m", text, placed(1));
  EXPECT_DOUBLE_EQ(step.seconds, 2e-3);
  EXPECT_DOUBLE_EQ(step.commands(), 1e-3);
  EXPECT_DOUBLE_EQ(total(step.work), step.work[static_cast<std::size_t>(WorkClass::kDot)]);
  EXPECT_DOUBLE_EQ(step.sums, 0.5e-3);
}

}  // namespace
}  // namespace lockstep
