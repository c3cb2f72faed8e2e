// Predictions for configs: what is exact, how they follow devices and batches, and what is refused.
#include "trainer/foresee/foresee.h"

#include <gmock/gmock.h>

#include <cmath>

#include "core/runtime/compiled_step.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"
#include "trainer/apps/run_planner.h"
#include "trainer/devices/device_profiles.h"
#include "trainer/devices/this_machine.h"
#include "trainer/foresee/answer.h"
#include "trainer/foresee/sweep.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kForeseenGpt = R"(
model: {name: gpt2, n_layer: 4, n_head: 4, n_embd: 256, block_size: 128, vocab_size: 1000}
data: {type: synthetic}
training: {max_steps: 100, global_batch_size: 64, micro_batch_size: 4, precision: bf16-mixed}
optimizer: {name: adamw, learning_rate: 0.001}
)";

struct ForeseeTest : testing::Test {
  LoadedConfig load(const std::string& text) const {
    return parse_config(text, "test.yaml", registry);
  }

  Registry registry = built_in();
  LoadedConfig config = load(kForeseenGpt);
  ForeseenStep step = foresee_step(config.config, registry);
  DeviceProfile a100 = find_device("a100-sxm4-80gb");
};

/// The arithmetic of the programs that run here, to the last multiply-add.
TEST_F(ForeseeTest, FlopsAreThoseOfTheCompiledStep) {
  double compiled = 0;
  const PlannedRun plan = plan_config(config.config, registry);
  for (const Command& command : plan.step->gradient.commands)
    if (command.work == WorkClass::kDot || command.work == WorkClass::kAttention)
      compiled += command.flops;
  double foreseen = 0;
  for (const KernelWork& kernel : step.work.heavy)
    foreseen += kernel.flops * static_cast<double>(kernel.count);
  EXPECT_EQ(foreseen, compiled);
  EXPECT_GT(step.work.calls.bytes, step.work.fused.bytes);
}

TEST_F(ForeseeTest, CountsTheRun) {
  EXPECT_EQ(step.steps, 100);
  EXPECT_EQ(step.tokens, 128);
  const Foresight one = foresee(step, config, a100, {});
  EXPECT_DOUBLE_EQ(run_hours(step, one.time), 100 * one.time.seconds / 3600);
  EXPECT_DOUBLE_EQ(one.samples_per_s, 64 / one.time.seconds);
  EXPECT_LT(one.low, one.time.seconds);
  EXPECT_DOUBLE_EQ(one.low * one.high, one.time.seconds * one.time.seconds);
}

TEST_F(ForeseeTest, ScalesToAsManyDevicesAsTheBatchHas) {
  const std::vector<Foresight> scaling =
      foresee_scaling(step, config, a100, {.per_node = 8, .nodes = 2});
  std::vector<int> devices;
  devices.reserve(scaling.size());
  for (const Foresight& each : scaling) devices.push_back(each.deployment.devices);
  EXPECT_THAT(devices, ElementsAre(1, 2, 4, 8, 16));
  for (std::size_t i = 1; i < scaling.size(); ++i)
    EXPECT_LT(scaling[i].samples_per_s / scaling[i].deployment.devices, scaling[0].samples_per_s)
        << "never better than one device";
}

TEST_F(ForeseeTest, TakesTheSixteenBitsThatADeviceHas) {
  EXPECT_EQ(foresee(step, config, a100, {}).deployment.math, MathType::kBf16);
  EXPECT_EQ(foresee(step, config, find_device("v100-sxm2-16gb"), {}).deployment.math,
            MathType::kFp16);
}

TEST_F(ForeseeTest, RefusesWhatCannotBe) {
  EXPECT_THAT(usage_error([&] { foresee(step, config, a100, {.per_node = 3}); }),
              HasSubstr("does not divide over 3 ranks"));
  EXPECT_EQ(usage_error([&] { foresee(step, config, a100, {.per_node = 16}); }),
            "a node of a100-sxm4-80gb holds 8 devices, and --devices-per-node is 16");
  EXPECT_EQ(usage_error([&] { foresee(step, config, a100, {.per_node = 8, .nodes = 1 << 20}); }),
            "1048576 nodes of 8 devices are more than 1048576 devices");
  EXPECT_EQ(
      usage_error([&] { foresee(step, config, find_device("k80"), {}); }),
      "training.precision bf16-mixed: device k80 has no bf16; use fp32, or --math of foresee");
  EXPECT_EQ(
      usage_error([&] { foresee(step, config, find_device("tpuv4"), {.math = MathType::kFp16}); }),
      "device tpuv4 has no fp16: its profile gives no peak of it");
}

/// The type of the config is not asked for where another is given.
TEST_F(ForeseeTest, TakesTheTypeThatIsGiven) {
  EXPECT_EQ(foresee(step, config, find_device("k80"), {.math = MathType::kFp32}).deployment.math,
            MathType::kFp32);
}

struct MemoryTest : ForeseeTest {
  MemoryVerdict judge(const ForeseeOptions& options) {
    return judge_memory(step, config, a100, options, planner, registry);
  }

  RunPlanner planner = planner_for_unknown_device(config.config, registry);
};

TEST_F(MemoryTest, IsThatOfTheRunOnOneDevice) {
  const MemoryVerdict verdict = judge({});
  const RunMemory run = run_memory(step.run, plan_batch(config, 1));
  EXPECT_EQ(verdict.memory.total(), run.total());
  EXPECT_EQ(verdict.memory.parameters + verdict.memory.optimizer, run.state);
  EXPECT_EQ(verdict.memory.optimizer, std::int64_t{2} * 4 * step.parameters);
  EXPECT_EQ(verdict.limit, std::int64_t{80} << 30);
  EXPECT_TRUE(verdict.fits());
  EXPECT_THAT(verdict.largest, HasSubstr("model.cpp:"));
  if (!verdict.largest_micro_batch) FAIL() << "no size fits";
  EXPECT_EQ(verdict.largest_micro_batch->setting, "training.micro_batch_size=64");
  EXPECT_TRUE(verdict.others.empty()) << "it fits, and nobody asked";
}

TEST_F(MemoryTest, StateIsDividedOverDevices) {
  const auto with = [&](Parallelism how) {
    ForeseeOptions options{.per_node = 4, .nodes = 2};
    options.deployment.parallelism = how;
    return judge(options).memory;
  };
  const DeviceMemory whole = with(Parallelism::kReplicated);
  const DeviceMemory zero1 = with(Parallelism::kZero1);
  EXPECT_EQ(zero1.optimizer, whole.optimizer / 8);
  EXPECT_EQ(zero1.parameters, whole.parameters);
  const DeviceMemory fsdp = with(Parallelism::kFsdp);
  EXPECT_NEAR(static_cast<double>(fsdp.parameters), static_cast<double>(whole.parameters) / 8, 8);
  EXPECT_NEAR(static_cast<double>(fsdp.gradients), static_cast<double>(whole.gradients) / 8, 8);
  EXPECT_EQ(fsdp.activations, whole.activations);
  // Two blocks of 12 n^2 + 13 n parameters in bf16 are less than two tables of tokens [1000,256].
  EXPECT_EQ(fsdp.gathered, 2 * 2 * std::max(12 * 256 * 256 + 13 * 256, 1000 * 256));
  EXPECT_EQ(with(Parallelism::kHsdp).optimizer, whole.optimizer / 4);
}

TEST_F(MemoryTest, SaysWhatWouldFit) {
  a100.memory_gib.value = 0.06;
  const MemoryVerdict verdict = judge({.per_node = 2});
  EXPECT_FALSE(verdict.fits());
  std::vector<std::string> settings;
  for (const Alternative& each : verdict.others) {
    settings.push_back(each.setting);
    EXPECT_LT(each.bytes, verdict.memory.total()) << each.setting;
    EXPECT_GT(each.seconds, 0);
  }
  EXPECT_THAT(settings, ElementsAre("model.gradient_checkpointing=true", "--parallelism zero1",
                                    "--parallelism fsdp"));
  EXPECT_THAT(verdict_text(verdict), HasSubstr("does NOT fit"));
}

TEST_F(MemoryTest, AutoTakesTheLargestThatFits) {
  LoadedConfig open = config;
  open.config.batch.micro_batch_size = kAutoMicroBatch;
  a100.memory_gib.value = 0.2;
  const LoadedConfig settled = settle_micro_batch(open, a100, {}, planner);
  const auto largest = judge({}).largest_micro_batch;
  if (!largest) FAIL() << "no size fits";
  EXPECT_EQ(fmt::format("training.micro_batch_size={}", settled.config.batch.micro_batch_size),
            largest->setting);
  EXPECT_THAT(usage_error([&] { settle_micro_batch(open, a100, {.per_node = 7}, planner); }),
              HasSubstr("does not divide over 7 ranks"));
  a100.memory_gib.value = 0.01;
  EXPECT_EQ(error_of(ErrorKind::kOutOfMemory,
                     [&] { settle_micro_batch(open, a100, {.per_node = 2}, planner); }),
            "no micro-batch that divides training.global_batch_size 64 over 2 devices fits the "
            "0.01 GiB of a100-sxm4-80gb");
}

TEST_F(MemoryTest, TextAndJsonSayTheSame) {
  const DeviceAnswer answer =
      answer_for(config, a100, {.per_node = 4, .alternatives = true}, {}, planner, registry);
  const std::string text = foresight_text(answer);
  EXPECT_THAT(text, HasSubstr("a100-sxm4-80gb: 4 devices in 1 node, bf16, compiled, dp\n"));
  EXPECT_THAT(text,
              HasSubstr(fmt::format("step {:.4g} ms (80 %:", 1e3 * answer.asked().time.seconds)));
  EXPECT_THAT(text, HasSubstr("--parallelism zero1"));
  const std::string json = foresight_json({answer});
  EXPECT_THAT(json, HasSubstr("\"device\": \"a100-sxm4-80gb\""));
  EXPECT_THAT(json, HasSubstr(fmt::format("\"bytes\": {}", answer.memory.memory.total())));
}

TEST(SweepValues, AreSplitAtCommasOutsideOfLists) {
  EXPECT_THAT(sweep_values("a.b=1,2"), ElementsAre("a.b=1", "a.b=2"));
  EXPECT_THAT(sweep_values("a.b=[1,2],[3]"), ElementsAre("a.b=[1,2]", "a.b=[3]"));
  EXPECT_THAT(sweep_values("a.b=\"x,y\",z"), ElementsAre("a.b=\"x,y\"", "a.b=z"));
  EXPECT_EQ(usage_error([] { sweep_values("a.b"); }), "--sweep takes key.path=a,b,c, not 'a.b'");
  EXPECT_EQ(usage_error([] { sweep_values("a=1,,2"); }), "--sweep a=1,,2: a value is empty");
}

struct SweepTest : ForeseeTest {
  TemporaryFolder folder;
};

TEST_F(SweepTest, FindsTheQuickestAndTheCheapest) {
  const std::string path = folder.write("gpt.yaml", kForeseenGpt);
  const std::vector<DeviceProfile> devices{a100, find_device("k80")};
  const Prices prices{{"a100-sxm4-80gb", 4.0}, {"k80", 0.01}};
  const std::vector<SweepPoint> points =
      run_sweep(path, {"training.precision=fp32"}, {"training.micro_batch_size=1,4,64"}, devices,
                {.per_node = 8}, prices, registry);
  ASSERT_EQ(points.size(), 6U);
  EXPECT_THAT(points[4].problem, HasSubstr("does not divide"));
  for (const SweepPoint& point : points) {
    if (!point.foresight) continue;
    EXPECT_EQ(point.cost, point.device_hours * prices.at(point.device));
  }
  const std::string text = sweep_text(points);
  EXPECT_THAT(text, HasSubstr("quickest: a100-sxm4-80gb training.micro_batch_size=4\n"));
  EXPECT_THAT(text, HasSubstr("cheapest: k80 training.micro_batch_size=4\n"));
}

TEST_F(SweepTest, RefusesPricesThatItCannotUse) {
  const std::string path = folder.write("prices.yaml", "a100: 3\ntpuv3: -1\n");
  EXPECT_EQ(usage_error([&] { read_prices(path); }),
            path +
                ":1:1: there is no device 'a100' (`lockstep devices` lists them; a file of your "
                "own ends with .yaml)\n" +
                path + ":2:1: the price of 'tpuv3' must be a number > 0, not '-1'");
  const std::string config_path = folder.write("gpt.yaml", kForeseenGpt);
  EXPECT_EQ(usage_error([&] {
              run_sweep(config_path, {}, {}, {a100}, {}, {{"k80", 1.0}}, registry);
            }),
            "the prices have none of a100-sxm4-80gb");
}

/// What was measured of this machine, with lower bounds as they are.
DeviceProfile calibrated_test_machine() {
  MachineLimits limits = default_limits({"model", "Test CPU", 2, Isa::kAvx2, Bf16Units::kNone});
  limits.calibration.measured = true;
  limits.calibration.date = "2026-11-23T05:40:12Z";
  limits.steps.work = {{"dot", DType::kF32, {1, 1}, 1.5}};
  limits.steps.deviation = 0.1;
  return calibrated_device(limits);
}

TEST_F(ForeseeTest, ThisMachineIsForeseenByItsOwnCommands) {
  const LoadedConfig fp32 =
      parse_config(kForeseenGpt, "test.yaml", registry,
                   std::vector<std::string>{"training.precision=fp32", "device.threads=1"});
  const DeviceProfile here = calibrated_test_machine();
  const ForeseenStep planned = foreseen_step(
      fp32.config,
      planner_for_this_machine(fp32.config, registry, MaxIsa::kAuto).plan(fp32.config));
  const Foresight one = foresee(planned, fp32, here, {});
  EXPECT_TRUE(one.calibrated);
  EXPECT_NEAR(one.high / one.time.seconds, std::exp(0.12816), 1e-12);
  double sum = 0;
  for (const TimePart& part : one.time.parts) {
    sum += part.seconds;
    EXPECT_EQ(part.assumed, 0) << part.name;
    EXPECT_DOUBLE_EQ(part.seconds, (part.name == "dot" ? 1.5 : 1) * part.data_sheet) << part.name;
  }
  EXPECT_NEAR(sum, one.time.seconds, 5e-9) << "durations are rounded to nanoseconds";
  const auto error = [&](const ForeseeOptions& options) {
    return usage_error([&] { foresee(planned, fp32, here, options); });
  };
  EXPECT_THAT(error({.nodes = 2}), HasSubstr("say --network-gbit"));
  EXPECT_THAT(error({.math = MathType::kBf16}), HasSubstr("--math bf16 is for other devices"));
  EXPECT_THAT(error({.deployment = {.parallelism = Parallelism::kZero1}}),
              HasSubstr("--parallelism zero1 is for other devices"));
  EXPECT_THAT(error({.deployment = {.execution = Execution::kEager}}),
              HasSubstr("--execution eager is for other devices"));
  const Foresight two =
      foresee(planned, fp32, here, {.nodes = 2, .deployment = {.node_network = 1e6}});
  EXPECT_GT(two.time.exposed_seconds, 4.0 * static_cast<double>(planned.parameters) / 1e6 / 2);
}

}  // namespace
}  // namespace lockstep
