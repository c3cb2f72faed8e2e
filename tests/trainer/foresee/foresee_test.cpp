// Predictions for configs: what is exact, how they follow devices and batches, and what is refused.
#include "trainer/foresee/foresee.h"

#include <gmock/gmock.h>

#include "core/runtime/compiled_step.h"
#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"
#include "trainer/apps/dry_run.h"
#include "trainer/devices/device_profiles.h"
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
  const CompiledConfig plan = compile_config(config.config, registry);
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
  EXPECT_EQ(usage_error([&] { foresee(step, config, find_device("k80"), {}); }),
            "training.precision bf16-mixed: device k80 has no bf16; choose --math");
  EXPECT_EQ(
      usage_error([&] { foresee(step, config, find_device("tpuv4"), {.math = MathType::kFp16}); }),
      "device tpuv4 has no fp16: its profile gives no peak of it");
}

/// The type of the config is not asked for where another is given.
TEST_F(ForeseeTest, TakesTheTypeThatIsGiven) {
  EXPECT_EQ(foresee(step, config, find_device("k80"), {.math = MathType::kFp32}).deployment.math,
            MathType::kFp32);
}

TEST_F(ForeseeTest, TextAndJsonSayTheSame) {
  const std::vector<Foresight> scaling = foresee_scaling(step, config, a100, {.per_node = 4});
  const std::string text = foresight_text(step, scaling, a100);
  EXPECT_THAT(text, HasSubstr("a100-sxm4-80gb: 4 devices in 1 node, bf16, compiled, dp\n"));
  EXPECT_THAT(text,
              HasSubstr(fmt::format("step {:.4g} ms (80 %:", 1e3 * scaling.back().time.seconds)));
  EXPECT_THAT(foresight_json(step, {scaling}),
              HasSubstr(fmt::format("\"device\": \"a100-sxm4-80gb\"")));
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
  for (const SweepPoint& point : points)
    if (point.foresight) EXPECT_EQ(point.cost, point.device_hours * prices.at(point.device));
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

}  // namespace
}  // namespace lockstep
