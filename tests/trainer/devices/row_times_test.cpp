// Which row of a ledger takes what in virtual time.
#include "trainer/devices/row_times.h"

#include <gmock/gmock.h>

#include <numeric>

#include "core/engine/compile.h"
#include "core/engine/update_plans.h"
#include "core/kernels/kernel_cache.h"
#include "core/trace/context.h"
#include "core/trace/cut_trace.h"
#include "core/trace/functions.h"
#include "core/trace/gradients.h"
#include "tests/fixtures/tested_target.h"
#include "trainer/devices/device_profiles.h"
#include "trainer/devices/step_work.h"

namespace lockstep {
namespace {

using testing::Contains;
using testing::DoubleNear;
using testing::Field;

constexpr std::int64_t kMicroBatches = 3;
constexpr double kRounded = 1e-9;  // seconds: durations are whole nanoseconds

/// Two linear layers with a norm between them, and an update.
Graph step_of_two_layers(TraceContext& context) {
  const auto input = [&](DType dtype, const Shape& shape, InputKind kind, const char* name) {
    const std::vector<double> zeros(static_cast<std::size_t>(shape.elements()));
    return context.tensor(std::make_shared<HostScalar>(from_doubles(dtype, shape, zeros)), kind,
                          name);
  };
  const Tensor x = input(DType::kF32, Shape{64, 128}, InputKind::kBatch, "batch.x");
  const Tensor y = input(DType::kI32, Shape{64}, InputKind::kBatch, "batch.y");
  Tensor first = input(DType::kF32, Shape{128, 256}, InputKind::kParameter, "first.weight");
  Tensor second = input(DType::kF32, Shape{256, 10}, InputKind::kParameter, "second.weight");
  const Tensor loss = sum(cross_entropy(matmul(gelu_tanh(matmul(x, first)), second), y));
  const std::vector<Tensor> gradient = gradients(loss, std::vector<Tensor>{first, second});
  const Tensor first_sum = all_reduce(gradient[0]);
  const Tensor second_sum = all_reduce(gradient[1]);
  first.assign(first - first_sum * 0.01);
  second.assign(second - second_sum * 0.01);
  return context.cut().graph;
}

double seconds_in(const std::vector<BundleCost>& costs) {
  return std::accumulate(costs.begin(), costs.end(), 0.0,
                         [](double sum, const BundleCost& each) { return sum + each.seconds; });
}

struct RowTimes : testing::Test {
  std::shared_ptr<const CompiledStep> compiled(bool unknown_kernels) {
    CompileOptions options{.target = tested_target()};
    options.unknown_kernels = unknown_kernels;
    return compile_step(graph, options, kernels, updates, Log::null());
  }

  TraceContext context;
  Graph graph = step_of_two_layers(context);
  KernelCache kernels{tested_target()};
  UpdatePlans updates;
  std::shared_ptr<const CompiledStep> step = compiled(false);
};

struct RowTimesOfProfile : RowTimes {
  RowTimesOfProfile() {
    StepWork work = work_of(*compiled(true));
    work.micro_batches = kMicroBatches;
    time = step_time(work, device, deployment, constants);
    costs = costs_by_rates(*step, time, kMicroBatches, rates);
  }

  DeviceProfile device = find_device("a100-sxm4-80gb");
  Deployment deployment{.devices = 2};
  CostConstants constants = fitted_constants().constants;
  DeviceRates rates{device, deployment, constants};
  StepTime time;
  ProgramCosts costs;
};

TEST_F(RowTimesOfProfile, AddUpToTheProgramsOfTheStep) {
  const StepDurations& whole = time.durations;
  EXPECT_NEAR(seconds_in(costs.gradient) + costs.dispatch, seconds_of(whole.micro_batch_ns), 1e-12);
  EXPECT_NEAR(seconds_in(costs.update), seconds_of(whole.update_ns), 1e-9);
  EXPECT_EQ(costs.waits, seconds_of(whole.waits_ns));
  EXPECT_GT(costs.waits, 0);
  EXPECT_GT(costs.dispatch, 0);
}

/// The plan has the dots of the recorded step, so that each has its own time.
TEST_F(RowTimesOfProfile, GiveProductsTheirOwnTimeAndOthersTheirShare) {
  const Plan& plan = step->gradient;
  double dots = 0, least_rate = 1e300, largest_rate = 0;
  for (std::size_t first = 0; first < plan.commands.size(); first = next_bundle(plan, first)) {
    const BundleCost& cost = costs.gradient[first];
    EXPECT_LE(cost.lower_bound, cost.seconds * (1 + 1e-12));
    if (plan.commands[first].work == WorkClass::kDot) {
      dots += cost.seconds;
    } else if (const double bytes = bundle_work(plan, first).bytes; bytes > 0) {
      least_rate = std::min(least_rate, bytes / cost.seconds);
      largest_rate = std::max(largest_rate, bytes / cost.seconds);
    }
  }
  EXPECT_NEAR(dots, time.part("dots").seconds / kMicroBatches, kRounded);
  EXPECT_NEAR(least_rate, largest_rate, 1e-6 * largest_rate) << "bytes a second";
  const auto x_first = std::ranges::find_if(plan.commands, [&](const Command& command) {
    const Node& node = plan.graph[command.value];
    return node.op == Op::kDotGeneral && node.type.shape == Shape{64, 256};
  });
  ASSERT_NE(x_first, plan.commands.end());
  const auto at = static_cast<std::size_t>(x_first - plan.commands.begin());
  ASSERT_EQ(next_bundle(plan, at), at + 1);
  EXPECT_NEAR(costs.gradient[at].seconds,
              rates.heavy(heavy_kernel(plan.graph, x_first->value)).seconds, kRounded);
}

TEST_F(RowTimes, OfThisMachineAreThoseOfItsStep) {
  MachineLimits limits = default_limits({"model", "Test CPU", 2, Isa::kAvx2, Bf16Units::kNone});
  limits.steps.work = {{"dot", DType::kF32, {1, 1}, 1.5}, {"fused", DType::kF32, {1, 1}, 2.5}};
  limits.steps.overheads = {{{1, 1}, 1e-6, 0.01}};
  limits.steps.sums_bytes_per_s = 1e9;
  const StepPlacement placement{.cores = {1, 1}, .micro_batches = kMicroBatches};
  const StepCost whole = step_cost(*step, limits, placement);
  const ProgramCosts costs = costs_by_limits(*step, limits, placement);
  EXPECT_NEAR(seconds_in(costs.gradient), seconds_of(whole.durations.micro_batch_ns), 1e-9);
  EXPECT_NEAR(costs.sums, seconds_of(whole.durations.sums_ns), 1e-12);
  EXPECT_NEAR(seconds_in(costs.update) + costs.waits,
              seconds_of(whole.durations.update_ns + whole.durations.waits_ns), 2e-9);
}

LedgerRow modelled(const char* program, const char* work, double ms, double limit = 0) {
  return {.program = program, .work = work, .virtual_ms = ms, .virtual_lower_bound_ms = limit};
}

VirtualTotals two_steps() {
  return {.steps = 2,
          .all_ns = 40'000'000,
          .gradient_ns = 24'000'000,
          .exposed_comm_ns = 6'000'000,
          .update_ns = 5'000'000,
          .exposed_gap_ns = 3'000'000,
          .input_wait_ns = 2'000'000};
}

double sum_of_virtual(const std::vector<LedgerRow>& rows) {
  double out = 0;
  for (const LedgerRow& row : rows) out += row.virtual_ms;
  return out;
}

auto row_with(const char* work, double ms) {
  return AllOf(Field("work", &LedgerRow::work, work),
               Field("virtual_ms", &LedgerRow::virtual_ms, DoubleNear(ms, 1e-12)));
}

TEST(FitVirtualTimes, SumToTheMeanStep) {
  std::vector<LedgerRow> rows{
      modelled("gradient", "dot", 3, 2.5),  modelled("gradient", "fused", 1, 1),
      modelled("step", "gradient sums", 1), modelled("step", "dispatch", 1),
      modelled("step", "idle", 0),          modelled("step", "checkpoint", 0),
      modelled("update", "optimizer", 2),   modelled("step", "other", 0.5)};
  fit_virtual_times(two_steps(), rows);
  EXPECT_DOUBLE_EQ(sum_of_virtual(rows), 20);
  EXPECT_THAT(rows, Contains(row_with("dot", 6)));  // twice as slow as modelled
  EXPECT_THAT(rows, Contains(row_with("gradient sums", 2)));
  EXPECT_THAT(rows, Contains(row_with("optimizer", 2)));
  EXPECT_THAT(rows, Contains(row_with("idle", 1.5)));
  EXPECT_THAT(rows, Contains(row_with("inputs", 1)));  // that took no time here
  EXPECT_THAT(rows, Contains(row_with("all-reduce", 3)));
  EXPECT_THAT(rows, Contains(row_with("checkpoint", 0)));
  EXPECT_EQ(rows.back().work, "other");
  EXPECT_EQ(rows[0].virtual_lower_bound_ms, 2.5) << "a slower device is farther from its limit";
}

TEST(FitVirtualTimes, LeaveToTheRestWhatNoRowTakes) {
  std::vector<LedgerRow> rows{modelled("step", "other", 0)};
  VirtualTotals totals = two_steps();
  totals.all_ns += 2'000'000;
  fit_virtual_times(totals, rows);
  EXPECT_DOUBLE_EQ(sum_of_virtual(rows), 21);
  EXPECT_THAT(rows, Contains(row_with("other", 15.5)));
}

}  // namespace
}  // namespace lockstep
