// The cost model: its limits, which follow from the data sheet, and how times change with sizes.
#include "core/cost/step_time.h"

#include <gmock/gmock.h>

#include <cmath>

#include "core/cost/collective_time.h"
#include "core/cost/product_time.h"
#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

Figure sheet(double value) {
  return {value, "a data sheet"};
}

DeviceProfile device() {
  DeviceProfile out;
  out.name = "example";
  out.peak_tflops[static_cast<std::size_t>(MathType::kFp32)] = sheet(10);
  out.peak_tflops[static_cast<std::size_t>(MathType::kBf16)] = sheet(100);
  out.on_tensor_units[static_cast<std::size_t>(MathType::kBf16)] = true;
  out.matmul_fraction = sheet(0.85);
  out.memory_gib = sheet(40);
  out.memory_gb_per_s = sheet(1000);
  out.memory_fraction = sheet(0.88);
  out.compute_units = sheet(100);
  out.launch_us_eager = out.launch_us_graph = out.launch_us_xla = {5, ""};
  out.node_devices = sheet(8);
  out.node_link_gb_per_s = sheet(100);
  out.node_latency_us = {20, ""};
  out.network_gb_per_s = sheet(10);
  return out;
}

KernelWork dot(std::int64_t m, std::int64_t n, std::int64_t k) {
  KernelWork out{.kind = KernelKind::kDot, .batch = 1, .m = m, .n = n, .k = k};
  out.flops = 2.0 * static_cast<double>(m * n * k);
  out.bytes = 2.0 * static_cast<double>(m * k + k * n + m * n);
  return out;
}

StepWork work() {
  return {.heavy = {dot(4096, 4096, 4096), dot(4096, 1024, 1024)},
          .fused = {.bytes = 1e9, .kernels = 10},
          .calls = {.bytes = 4e9, .kernels = 40},
          .buckets = {{.bytes = 1e8, .heavy_share = 0.5, .traffic_share = 0.5},
                      {.bytes = 1e8, .heavy_share = 0.7, .traffic_share = 0.7},
                      {.bytes = 2e8, .heavy_share = 1, .traffic_share = 1}},
          .micro_batches = 1,
          .parameters = 1e8,
          .slots = 2};
}

Deployment on(int devices, int nodes = 1) {
  return {.devices = devices, .nodes = nodes, .math = MathType::kBf16};
}

double seconds(const StepWork& of, const Deployment& deployment) {
  return step_time(of, device(), deployment, CostConstants{}).seconds;
}

TEST(StepTime, PartsSumToIt) {
  for (const Deployment& each : {on(1), on(8), on(64, 8)}) {
    const StepTime time = step_time(work(), device(), each, CostConstants{});
    double sum = 0;
    for (const TimePart& part : time.parts) {
      sum += part.seconds;
      EXPECT_GE(part.seconds, 0) << part.name;
      EXPECT_GE(part.data_sheet, 0) << part.name;
      EXPECT_GE(part.assumed, 0) << part.name;
      EXPECT_LE(part.data_sheet + part.assumed, part.seconds * (1 + 1e-12)) << part.name;
    }
    EXPECT_NEAR(sum, time.seconds, 5e-9) << "durations are rounded to nanoseconds";
    EXPECT_LE(time.exposed_seconds, time.all_reduce_seconds);
    EXPECT_LT(time.utilization, 1);
  }
}

/// What the data sheet gives of a part is never more than the part.
TEST(StepTime, IsScaledInAllItsParts) {
  const StepTime time = step_time(work(), device(), on(16, 2), CostConstants{});
  for (const double factor : {0.1, 1.5}) {
    const StepTime half = scaled(time, factor);
    EXPECT_DOUBLE_EQ(half.seconds, factor * time.seconds);
    EXPECT_DOUBLE_EQ(half.utilization, time.utilization / factor);
    double sum = 0;
    for (const TimePart& part : half.parts) {
      sum += part.seconds;
      EXPECT_GE(part.fitted(), -1e-15) << part.name;
    }
    EXPECT_NEAR(sum, half.seconds, 5e-9);
  }
}

/// A product is slower than the peak of arithmetic and of memory, however large it is.
TEST(ProductTime, IsAboveBothRoofs) {
  const Deployment deployment = on(1);
  const CostConstants constants;
  const DeviceProfile profile = device();
  const DeviceRates rates(profile, deployment, constants);
  for (const std::int64_t size : {16, 100, 128, 1000, 4096, 20000}) {
    const KernelWork product = dot(size, size, size);
    const double roof = std::max(product.flops / 100e12, product.bytes / 1000e9);
    EXPECT_GE(rates.product(product).seconds, roof) << size;
    EXPECT_EQ(rates.product(product).data_sheet, roof) << size;
  }
}

TEST(ProductTime, GrowsWithEverySizeAndCount) {
  const Deployment deployment = on(1);
  const CostConstants constants;
  const DeviceProfile profile = device();
  const DeviceRates rates(profile, deployment, constants);
  const auto of = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return rates.product(dot(m, n, k)).seconds;
  };
  EXPECT_LT(of(1024, 1024, 1024), of(2048, 1024, 1024));
  EXPECT_LT(of(1024, 1024, 1024), of(1024, 2048, 1024));
  EXPECT_LT(of(1024, 1024, 1024), of(1024, 1024, 2048));
  KernelWork three = dot(1024, 1024, 1024);
  three.count = 3;
  EXPECT_DOUBLE_EQ(rates.product(three).seconds, 3 * of(1024, 1024, 1024));
}

/// One tile more than the units compute at once is a second wave.
TEST(ProductTime, PaysForALastWave) {
  const Deployment deployment = on(1);
  const CostConstants constants;
  DeviceProfile profile = device();
  profile.memory_gb_per_s = sheet(1e6);  // only arithmetic counts
  const DeviceRates rates(profile, deployment, constants);
  const auto each = [&](std::int64_t tiles) {
    return rates.product(dot(128 * tiles, 128, 256)).seconds / static_cast<double>(tiles);
  };
  EXPECT_GT(each(101), 1.2 * each(100));
}

TEST(AllReduceTime, IsThatOfARingAtTheLinks) {
  CostConstants constants;
  constants.bus_fraction = constants.link_fraction = constants.network_fraction = 1;
  constants.latency = 0;
  constants.both_levels = 0;
  const auto of = [&](const Deployment& deployment) {
    return all_reduce_time(1e9, 1, device(), deployment, constants).time.seconds;
  };
  EXPECT_EQ(of(on(1)), 0);
  EXPECT_DOUBLE_EQ(of(on(8)), 2.0 * 7 / 8 * 1e9 / 100e9);
  EXPECT_DOUBLE_EQ(of(on(64, 8)), 2.0 * 7 / 8 * 1e9 / 80e9) << "a node sends by all its devices";
}

TEST(StepTime, MoreMicroBatchesHideTheAllReduceOnce) {
  StepWork four = work();
  four.micro_batches = 4;
  const double one_alone = seconds(work(), on(1));
  const double four_alone = seconds(four, on(1));
  EXPECT_GT(four_alone, 2 * one_alone);
  EXPECT_LT(four_alone, 4 * one_alone) << "one update";
  const double growth = seconds(work(), on(64, 8)) / one_alone;
  EXPECT_GT(growth, 1);
  EXPECT_LT(seconds(four, on(64, 8)) / four_alone, growth);
}

/// What comes last is exposed, what comes early hides, but for what it costs the kernels.
TEST(StepTime, WaitsForTheLastBucket) {
  CostConstants constants;
  constants.last_bucket = 0.25;  // of all that is sent, as the rest hides
  constants.straggler = 0;
  constants.latency = 0;
  StepWork late = work();
  for (BucketWork& bucket : late.buckets) bucket.bytes /= 100;
  StepWork early = late;
  for (BucketWork& bucket : early.buckets) bucket.heavy_share = bucket.traffic_share = 0.1;
  const auto exposed = [&](const StepWork& of) {
    return step_time(of, device(), on(8), constants).exposed_seconds;
  };
  const StepTime time = step_time(early, device(), on(8), constants);
  // The corner of what hides is rounded off by a few thousandths of a backward pass of 3 ms.
  EXPECT_NEAR(exposed(early), 0.25 * time.all_reduce_seconds, 8e-6);
  const double last = seconds_of(time.durations.buckets[2].all_reduce_ns);
  EXPECT_NEAR(last, 0.5 * time.all_reduce_seconds, 2e-9);
  EXPECT_NEAR(exposed(late), last, 2e-9);
}

TEST(StepTime, WithoutOverlapWaitsForAllThatIsSent) {
  Deployment after = on(8);
  after.overlap = false;
  const StepTime time = step_time(work(), device(), after, CostConstants{});
  EXPECT_NEAR(time.exposed_seconds, time.all_reduce_seconds, 5e-9);
}

TEST(StepTime, DividedOptimizersTakeLess) {
  Deployment zero = on(8);
  zero.parallelism = Parallelism::kZero1;
  EXPECT_LT(seconds(work(), zero), seconds(work(), on(8)));
}

/// Between nodes only the gradients of shards move, once, not weights for every pass.
TEST(StepTime, HybridShardsSpareTheNetwork) {
  Deployment full = on(64, 8);
  full.node_network = 4e9;
  Deployment hybrid = full;
  full.parallelism = Parallelism::kFsdp;
  hybrid.parallelism = Parallelism::kHsdp;
  const auto sent = [&](const Deployment& deployment) {
    return step_time(work(), device(), deployment, CostConstants{}).all_reduce_seconds;
  };
  EXPECT_LT(sent(hybrid), sent(full));
}

TEST(StepTime, DependsOnTheSoftware) {
  Deployment eager = on(1), hand = on(1);
  eager.execution = Execution::kEager;
  hand.execution = Execution::kHandFused;
  EXPECT_GT(seconds(work(), eager), seconds(work(), hand)) << "calls move more";
  Deployment full = on(1);
  full.rematerialization = Rematerialization::kFull;
  StepWork frozen = work();
  frozen.parameters = 0;  // no optimizer
  EXPECT_NEAR(seconds(frozen, full) / seconds(frozen, on(1)), 4.0 / 3, 0.01) << "one more forward";
}

/// A thousand kernels of no size: the host cannot start them quickly enough.
TEST(StepTime, ManySmallKernelsWaitForTheHost) {
  StepWork small = work();
  small.heavy.clear();
  small.parameters = 0;
  small.fused = {.bytes = 1e3, .kernels = 1000};
  small.calls = small.fused;
  Deployment eager = on(1);
  eager.execution = Execution::kEager;
  const double launch = 5e-6 * CostConstants{}.eager_dispatch;
  EXPECT_NEAR(seconds(small, eager), 1000 * launch, 1e-4);
}

/// Scores in memory cost passes over them, of which an execution that fuses saves a part.
TEST(AttentionTime, PaysForScoresInMemory) {
  KernelWork attention{.kind = KernelKind::kAttention, .batch = 96, .m = 512, .n = 512, .k = 64};
  const double scores = 96.0 * 512 * 512;
  attention.flops = 4 * scores * 64;
  attention.bytes = 4.0 * 2 * 96 * 512 * 64;
  const DeviceProfile profile = device();
  const auto of = [&](bool fused, Execution execution) {
    Deployment deployment = on(1);
    deployment.fused_attention = fused;
    deployment.execution = execution;
    CostConstants constants;
    constants.score_least = 0.5;
    return DeviceRates(profile, deployment, constants).attention(attention).seconds;
  };
  EXPECT_GT(of(false, Execution::kHandFused), of(true, Execution::kHandFused));
  const CostConstants priors;
  const double pass = scores * 2 / (1000e9 * priors.stream_memory);
  const double saved = of(false, Execution::kEager) - of(false, Execution::kHandFused);
  EXPECT_NEAR(saved, priors.score_passes / 2 * 0.5 * (1 - priors.unfused[2]) * pass, 1e-12);
}

TEST(StepTime, RefusesWhatTheProfileDoesNotHave) {
  Deployment fp8 = on(1);
  fp8.math = MathType::kFp8;
  EXPECT_EQ(usage_error([&] { seconds(work(), fp8); }),
            "device example has no fp8: its profile gives no peak of it");
  DeviceProfile alone = device();
  alone.node_link_gb_per_s.reset();
  EXPECT_EQ(usage_error([&] { step_time(work(), alone, on(2), CostConstants{}); }),
            "the profile of example gives no node.link_gb_per_s, which several devices need");
  alone = device();
  alone.network_gb_per_s.reset();
  EXPECT_EQ(usage_error([&] { step_time(work(), alone, on(16, 2), CostConstants{}); }),
            "the profile of example gives no network.gb_per_s, which several nodes need");
}

TEST(CostConstants, GoThroughTheirListUnchanged) {
  const CostConstants& fitted = fitted_constants().constants;
  EXPECT_EQ(constants_from(values_of(fitted)), fitted);
  const std::size_t count = cost_constant_rows().size();
  EXPECT_EQ(fitted_constants().covariance.size(), count * (count + 1) / 2);
  const std::vector<double> few(count - 1, 1.0);
  EXPECT_EQ(usage_error([&] { constants_from(few); }),
            fmt::format("{} constants are given, and there are {}", count - 1, count));
}

/// What the fit wrote is a covariance: variances are positive, and no correlation is above 1. No
/// constant went where its prior does not let it.
TEST(FittedConstants, AreWithinTheirPriors) {
  const FittedConstants& fitted = fitted_constants();
  const std::vector<CostConstantRow> rows = cost_constant_rows();
  const std::vector<double> values = values_of(fitted.constants);
  const auto covariance = [&](std::size_t i, std::size_t j) {
    return fitted.covariance.at(i * (i + 1) / 2 + j);
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_LT(std::abs(std::log(values[i] / rows[i].prior)), 5 * rows[i].spread) << rows[i].name;
    EXPECT_GT(covariance(i, i), 0) << rows[i].name;
    EXPECT_LT(covariance(i, i), 1.01 * rows[i].spread * rows[i].spread)
        << rows[i].name << ": rows only add to what the prior knows";
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_LE(std::abs(covariance(i, j)), 1.01 * std::sqrt(covariance(i, i) * covariance(j, j)));
  }
  const ResidualSpread& residual = fitted.residual;
  for (const double share : {residual.alone, residual.other_math, residual.other_execution}) {
    EXPECT_GT(share, 0);
    EXPECT_LT(share, 1);
  }
  for (const double length :
       {residual.parameters_length, residual.devices_length, residual.work_length})
    EXPECT_GT(length, 0);
}

}  // namespace
}  // namespace lockstep
