#include "core/ir/machine_limits.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

constexpr double kG = 1e9;

/// A machine with round figures: 100 GFLOP/s of f32 on a core, 150 on two, bf16 at 400.
MachineLimits round_limits() {
  MachineLimits out;
  out.machine = {"model", "Test CPU", 2, Isa::kAvx512, Bf16Units::kTiles};
  out.dots = {{"small", DType::kF32, 64, 64, 64, {1, 1}, 50 * kG, 1},
              {"large", DType::kF32, 2048, 2048, 2048, {1, 1}, 100 * kG, 1},
              {"large", DType::kF32, 2048, 2048, 2048, {1, 2}, 90 * kG, 1},
              {"large", DType::kF32, 2048, 2048, 2048, {2, 1}, 150 * kG, 1},
              {"large", DType::kBF16, 2048, 2048, 2048, {1, 1}, 400 * kG, 1}};
  out.memory = {{1 << 14, 1, 200 * kG, 100 * kG, 1},
                {1 << 20, 1, 20 * kG, 10 * kG, 1},
                {1 << 14, 2, 400 * kG, 160 * kG, 1},
                {1 << 20, 2, 24 * kG, 12 * kG, 1}};
  out.all_reduce = {{2, 1, 4096, 10e-6, 1}, {2, 1, 1 << 20, 160e-6, 1}, {4, 1, 4096, 30e-6, 1}};
  out.bundle_ns = 100;
  return out;
}

Work dot(std::int64_t side, DType dtype = DType::kF32) {
  const auto n = static_cast<double>(side);
  return {WorkKind::kDot, dtype, 2 * n * n * n, 3 * n * n * static_cast<double>(size_of(dtype))};
}

TEST(MachineLimits, ADotGetsTheRateOfTheSizeThatIsNearest) {
  const MachineLimits limits = round_limits();
  EXPECT_DOUBLE_EQ(dot_flops_per_s(limits, dot(64), {1, 1}), 50 * kG);
  EXPECT_DOUBLE_EQ(dot_flops_per_s(limits, dot(128), {1, 1}), 50 * kG);
  EXPECT_DOUBLE_EQ(dot_flops_per_s(limits, dot(1024), {1, 1}), 100 * kG);
  EXPECT_DOUBLE_EQ(dot_flops_per_s(limits, dot(1 << 14), {1, 1}), 100 * kG);
  EXPECT_DOUBLE_EQ(peak_flops_per_s(limits, DType::kF32, {1, 1}), 100 * kG);
}

TEST(MachineLimits, ThreadsAndRanksPickTheirFiguresOrTheNearestOnes) {
  const MachineLimits limits = round_limits();
  EXPECT_DOUBLE_EQ(peak_flops_per_s(limits, DType::kF32, {1, 2}), 90 * kG);
  EXPECT_DOUBLE_EQ(peak_flops_per_s(limits, DType::kF32, {2, 1}), 150 * kG);
  EXPECT_DOUBLE_EQ(peak_flops_per_s(limits, DType::kF32, {4, 1}), 300 * kG) << "per thread";
  EXPECT_DOUBLE_EQ(peak_flops_per_s(limits, DType::kBF16, {2, 1}), 800 * kG) << "per thread";
  EXPECT_DOUBLE_EQ(peak_flops_per_s(limits, DType::kF16, {1, 1}), 100 * kG) << "as f32";
}

TEST(MachineLimits, BandwidthLiesBetweenThoseOfMeasuredSets) {
  const MachineLimits limits = round_limits();
  const auto rate = [&](double bytes, BusyCores cores, WorkKind kind = WorkKind::kElementwise) {
    return bytes_per_s(limits, {kind, DType::kF32, 0, bytes}, cores);
  };
  EXPECT_DOUBLE_EQ(rate(1 << 10, {1, 1}), 100 * kG);
  EXPECT_DOUBLE_EQ(rate(1 << 14, {1, 1}), 100 * kG);
  EXPECT_NEAR(rate(1 << 17, {1, 1}), 31.6 * kG, 0.1 * kG);  // half way in logarithms
  EXPECT_DOUBLE_EQ(rate(1 << 20, {1, 1}), 10 * kG);
  EXPECT_DOUBLE_EQ(rate(1 << 30, {1, 1}), 10 * kG);
  EXPECT_DOUBLE_EQ(rate(1 << 30, {1, 1}, WorkKind::kCopy), 20 * kG);
  EXPECT_DOUBLE_EQ(rate(1 << 30, {1, 2}), 6 * kG) << "two ranks share it";
  EXPECT_DOUBLE_EQ(rate(1 << 30, {2, 1}), 12 * kG);
  EXPECT_DOUBLE_EQ(rate(1 << 15, {2, 1}), 160 * kG) << "each thread's half fits its cache";
}

TEST(MachineLimits, SumsOverRanksLieBetweenMeasuredSizesAndGoOnInProportion) {
  const MachineLimits limits = round_limits();
  EXPECT_EQ(all_reduce_seconds(limits, 4096, 1), 0);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(limits, 4, 2), 10e-6);
  EXPECT_NEAR(all_reduce_seconds(limits, 1 << 16, 2), 40e-6, 1e-12);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(limits, 1 << 22, 2), 640e-6);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(limits, 4096, 4), 30e-6);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(limits, 4096, 8), 30e-6) << "the nearest there is";
  EXPECT_DOUBLE_EQ(
      lower_bound_seconds(limits, {WorkKind::kAllReduce, DType::kF32, 0, 4096}, {1, 2}), 10e-6);
}

TEST(MachineLimits, TheRoofIsWhateverTakesLongest) {
  const MachineLimits limits = round_limits();
  const auto bound = [&](const Work& work) { return lower_bound_seconds(limits, work, {1, 1}); };
  EXPECT_DOUBLE_EQ(bound(dot(2048)), 2.0 * 2048 * 2048 * 2048 / (100 * kG));
  EXPECT_DOUBLE_EQ(bound(dot(2048, DType::kBF16)), 2.0 * 2048 * 2048 * 2048 / (400 * kG));
  EXPECT_DOUBLE_EQ(bound({WorkKind::kDot, DType::kF32, 1e6, 1e7}), 1e-3) << "memory";
  EXPECT_DOUBLE_EQ(bound({WorkKind::kElementwise, DType::kF32, 1e6, 1e7}), 1e-3);
  EXPECT_DOUBLE_EQ(bound({WorkKind::kElementwise, DType::kBF16, 1e9, 1e3}), 1e-2) << "f32's peak";
  EXPECT_DOUBLE_EQ(bound({WorkKind::kElementwise, DType::kF32, 16, 64}), 100e-9) << "a bundle";
}

TEST(MachineLimits, ADefaultHasAllRoofsAndSaysWhatItIs) {
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512})
    for (const Bf16Units units : {Bf16Units::kNone, Bf16Units::kVectors, Bf16Units::kTiles}) {
      const MachineLimits limits = default_limits({"model", "Test CPU", 8, isa, units});
      EXPECT_EQ(limits.origin(), "not calibrated: default");
      for (const WorkKind kind :
           {WorkKind::kDot, WorkKind::kElementwise, WorkKind::kCopy, WorkKind::kAllReduce})
        for (const int threads : {1, 3, 8})
          EXPECT_GT(lower_bound_seconds(limits, {kind, DType::kBF16, 1e6, 1e6}, {threads, 2}), 0);
      const double gain = peak_flops_per_s(limits, DType::kBF16, {1, 1}) /
                          peak_flops_per_s(limits, DType::kF32, {1, 1});
      EXPECT_EQ(gain > 1, units != Bf16Units::kNone);
      EXPECT_EQ(limits.fast_dtypes.size(), units == Bf16Units::kNone ? 1U : 2U);
    }
}

TEST(MachineLimits, AMachineIsLikeOneOfTheSameModelCoresAndUnits) {
  const MachineKind one{"model", "Test CPU", 2, Isa::kAvx512, Bf16Units::kTiles};
  MachineKind other = one;
  other.cpu_name = "another name";
  EXPECT_TRUE(one.is_like(other));
  other.cores = 4;
  EXPECT_FALSE(one.is_like(other));
  other = one;
  other.bf16 = Bf16Units::kNone;
  EXPECT_FALSE(one.is_like(other));
  other = one;
  other.cpu_model = "another";
  EXPECT_FALSE(one.is_like(other));
  EXPECT_EQ(one.to_string(), "Test CPU, 2 cores, AVX-512 with AMX");
}

TEST(MachineLimits, AStepGetsTheFactorsOfTheMostSimilarUse) {
  const StepRates rates{.work = {{"dot", DType::kF32, {1, 1}, 1.1},
                                 {"dot", DType::kF32, {1, 2}, 1.2},
                                 {"dot", DType::kBF16, {1, 1}, 1.3},
                                 {"pool", DType::kF32, {1, 1}, 5, 0.25, 0.125}},
                        .overheads = {{{1, 1}, 1e-7, 0}, {{1, 2}, 5e-7, 0.02}}};
  EXPECT_EQ(work_factor(rates, "dot", DType::kF32, {1, 1}).factor, 1.1);
  EXPECT_EQ(work_factor(rates, "dot", DType::kF32, {1, 8}).factor, 1.2);
  EXPECT_EQ(work_factor(rates, "dot", DType::kBF16, {1, 2}).factor, 1.3)
      << "its own products come first";
  EXPECT_EQ(work_factor(rates, "pool", DType::kBF16, {1, 1}).factor, 5);
  EXPECT_EQ(work_factor(rates, "pool", DType::kBF16, {1, 1}).seconds(2, 3, 4),
            10 + 3 * 0.25 + 4 * 0.125);
  EXPECT_EQ(work_factor(rates, "gather", DType::kF32, {1, 1}).factor, 1) << "nothing is known";
  EXPECT_EQ(step_overhead(rates, {1, 4}).waits, 0.02);
  EXPECT_EQ(step_overhead({}, {1, 4}).waits, 0);
}

TEST(MachineLimits, AnExchangeHasTheRateOfTheLargestBucketBetweenNodes) {
  MachineLimits limits = round_limits();
  EXPECT_EQ(exchange_seconds(limits, 1e6), 0) << "not measured";
  limits.all_reduce.push_back({2, 2, 1 << 20, 1e-4, 1});
  limits.all_reduce.push_back({2, 2, 1 << 24, 0x1p-4, 1});
  EXPECT_DOUBLE_EQ(exchange_seconds(limits, 1 << 20), 0x1p-8);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(limits, 4096, 2), 10e-6) << "on one node as before";
}

}  // namespace
}  // namespace lockstep
