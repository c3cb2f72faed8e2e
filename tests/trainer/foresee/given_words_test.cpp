// Measured steps on the command line and in files: what they correct, and what is refused.
#include "trainer/foresee/given_words.h"

#include <gmock/gmock.h>

#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"
#include "trainer/devices/device_profiles.h"
#include "trainer/foresee/answer.h"
#include "trainer/foresee/sweep.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

constexpr const char* kMeasuredGpt = R"(
model: {name: gpt2, n_layer: 2, n_head: 4, n_embd: 256, block_size: 128, vocab_size: 1000}
data: {type: synthetic}
training: {max_steps: 100, global_batch_size: 64, micro_batch_size: 4, precision: bf16-mixed}
optimizer: {name: adamw, learning_rate: 0.001}
)";

struct GivenWordsTest : testing::Test {
  GivenSteps read(const std::vector<std::string>& words,
                  std::span<const DeviceProfile> on = {}) const {
    return read_given(words, path, {}, on.empty() ? std::span(&a100, 1) : on, options, registry);
  }
  std::string refusal(const std::string& word, std::span<const DeviceProfile> on = {}) const {
    return usage_error([&] { read({word}, on); });
  }
  double predicted(const ForeseeOptions& with) const {
    const LoadedConfig config = load_config(path, registry);
    return foresee(foresee_step(config.config, registry), config, a100, with).time.seconds;
  }

  TemporaryFolder folder;
  std::string path = folder.write("gpt.yaml", kMeasuredGpt);
  Registry registry = built_in();
  DeviceProfile a100 = find_device("a100-sxm4-80gb"), v100 = find_device("v100-sxm2-16gb");
  ForeseeOptions options{.per_node = 8, .nodes = 2};
};

TEST_F(GivenWordsTest, AreAsAskedButForWhatTheyName) {
  const GivenSteps given =
      read({"step_ms=5", "step_ms=6,devices=4,execution=eager,math=fp32,micro_batch_size=2",
            "step_ms=7,devices=4,nodes=2,model.n_layer=3"});
  const std::vector<GivenStep>& steps = given.at("a100-sxm4-80gb");
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[0].seconds, 5e-3);
  EXPECT_EQ(steps[0].foreseen.traits.devices, 16);
  EXPECT_EQ(steps[1].foreseen.traits.devices, 4);
  EXPECT_EQ(steps[1].foreseen.traits.execution, Execution::kEager);
  EXPECT_EQ(steps[1].foreseen.traits.math, MathType::kFp32);
  EXPECT_DOUBLE_EQ(steps[1].foreseen.traits.flops, steps[0].foreseen.traits.flops / 2);
  EXPECT_GT(steps[2].foreseen.traits.parameters, steps[0].foreseen.traits.parameters);
  EXPECT_EQ(steps[0].foreseen.seconds, predicted(options));
  ForeseeOptions four = options;
  four.per_node = 4;
  four.nodes = 1;
  EXPECT_LT(steps[2].foreseen.seconds, 2 * predicted(four));
}

TEST_F(GivenWordsTest, CorrectEveryPointOfTheScaling) {
  const LoadedConfig config = load_config(path, registry);
  const ForeseenStep step = foresee_step(config.config, registry);
  const std::vector<Foresight> plain = foresee_scaling(step, config, a100, options);
  ForeseeOptions with = options;
  with.given = read({fmt::format("step_ms={},devices=1", 1300 * plain[0].time.seconds)});
  const std::vector<Foresight> corrected = foresee_scaling(step, config, a100, with);
  ASSERT_EQ(corrected.size(), plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const double factor = corrected[i].time.seconds / plain[i].time.seconds;
    EXPECT_GT(factor, 1.05) << i;
    EXPECT_LT(factor, 1.3) << i;
    EXPECT_DOUBLE_EQ(factor, corrected[i].given_factor);
    EXPECT_LT(corrected[i].high / corrected[i].low, plain[i].high / plain[i].low) << i;
  }
  const auto answer = [&](const std::vector<Foresight>& scaling) {
    DeviceAnswer out;
    out.step = step;
    out.scaling = scaling;
    out.memory.limit = 1;
    return out;
  };
  EXPECT_THAT(foresight_text(answer(corrected)),
              HasSubstr(fmt::format("\ncorrected by 1 given step: times {:.4g}\n",
                                    corrected.back().given_factor)));
  EXPECT_THAT(foresight_text(answer(plain)), Not(HasSubstr("corrected")));
  EXPECT_THAT(foresight_json({answer(corrected)}), HasSubstr("\"given_steps\": 1"));
  EXPECT_EQ(foresee(step, config, v100, {.math = MathType::kFp16, .given = with.given}).given_steps,
            0U)
      << "a step of another device";
}

TEST_F(GivenWordsTest, CorrectASweep) {
  ForeseeOptions with = options;
  with.given = read({"step_ms=1000,devices=1"});
  const std::vector<SweepPoint> points =
      run_sweep(path, {}, {"training.micro_batch_size=1,2"}, std::vector{a100}, with, {}, registry);
  ASSERT_EQ(points.size(), 2U);
  for (const SweepPoint& point : points)
    EXPECT_GT(point.foresight ? point.foresight->given_factor : 0, 1.5);
}

TEST_F(GivenWordsTest, AreNoQuickerThanThePeak) {
  ForeseeOptions one = options;
  one.per_node = one.nodes = 1;
  const LoadedConfig config = load_config(path, registry);
  const StepTime time = foresee(foresee_step(config.config, registry), config, a100, one).time;
  const double least = 1e3 * time.seconds * time.utilization;
  EXPECT_EQ(read({fmt::format("step_ms={},devices=1", 1.01 * least)}).size(), 1U);
  EXPECT_EQ(refusal("step_ms=0.001,devices=1"),
            fmt::format("--given step_ms=0.001,devices=1: step_ms 0.001 is less than the {:.4g} ms "
                        "that the step's products take at the peak of a100-sxm4-80gb in bf16: "
                        "check batch, devices and math (tf32 is not fp32)",
                        least));
}

TEST_F(GivenWordsTest, AreReadFromAFile) {
  const std::string other = folder.write("other.yaml", kMeasuredGpt);
  const std::string file = folder.write(
      "rows.csv", "step_ms,devices,model.n_layer,config,device\r\n5,8,,,\r\n\r\n\"6\",,3," + other +
                      ",A100-SXM4-80GB\r\n");
  const GivenSteps given = read({file, "step_ms=9"});
  const std::vector<GivenStep>& steps = given.at("a100-sxm4-80gb");
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[0].foreseen.traits.devices, 8);
  EXPECT_EQ(steps[1].seconds, 6e-3);
  EXPECT_EQ(steps[1].foreseen.traits.devices, 16);
  EXPECT_GT(steps[1].foreseen.traits.parameters, steps[0].foreseen.traits.parameters);
}

TEST_F(GivenWordsTest, OfSeveralDevicesNameTheirs) {
  const std::vector<DeviceProfile> both{a100, v100};
  EXPECT_EQ(refusal("step_ms=1,math=fp16", both),
            "--given step_ms=1,math=fp16: say device=, which of a100-sxm4-80gb, v100-sxm2-16gb the "
            "step was measured on");
  EXPECT_EQ(read({"step_ms=1,device=v100-sxm2-16gb"}, both).count("v100-sxm2-16gb"), 1U);
  EXPECT_EQ(refusal("step_ms=1,device=k80", both),
            "--given step_ms=1,device=k80: device must be one of those of --device, "
            "a100-sxm4-80gb, v100-sxm2-16gb, not 'k80'");
}

TEST_F(GivenWordsTest, RefuseWhatCannotBe) {
  EXPECT_EQ(refusal("step_mss=1"),
            "--given step_mss=1: unknown key 'step_mss'; did you mean 'step_ms'?");
  EXPECT_EQ(refusal("devices=1"), "--given devices=1: step_ms is missing");
  EXPECT_EQ(refusal("step_ms=1,step_ms=2"),
            "--given step_ms=1,step_ms=2: 'step_ms' is given twice");
  EXPECT_EQ(refusal("none.csv"),
            "--given none.csv: takes key=value,... or a .csv file that exists, not 'none.csv'");
  for (const char* value : {"0", "-1", "fast", "nan", "inf", "1s"})
    EXPECT_EQ(refusal(fmt::format("step_ms={}", value)),
              fmt::format("--given step_ms={0}: step_ms must be a number > 0, not '{0}'", value));
  EXPECT_EQ(refusal("step_ms=1,devices=1.5"),
            "--given step_ms=1,devices=1.5: devices must be an integer > 0, not '1.5'");
  EXPECT_EQ(refusal("step_ms=1,devices=8,nodes=3"),
            "--given step_ms=1,devices=8,nodes=3: devices 8 cannot be divided over 3 nodes");
  EXPECT_EQ(refusal("step_ms=1,devices=16"),
            "--given step_ms=1,devices=16: devices 16 are more than the 8 of a node of "
            "a100-sxm4-80gb; say nodes= too");
  EXPECT_THAT(refusal("step_ms=1,devices=3"), HasSubstr("does not divide over 3 ranks"));
  EXPECT_EQ(refusal("step_ms=1,execution=eagre"),
            "--given step_ms=1,execution=eagre: execution must be one of eager, compiled, "
            "hand_fused, xla, static_graph, not 'eagre'; did you mean 'eager'?");
  EXPECT_THAT(refusal("step_ms=1,model.n_layr=3"),
              HasSubstr("unknown key 'model.n_layr'; did you mean 'n_layer'?"));
}

TEST_F(GivenWordsTest, RefuseFilesThatCannotBe) {
  const std::string file = folder.write("rows.csv", "devices,nodes\n1,1\n");
  EXPECT_EQ(refusal(file), file + ":1: there is no column step_ms");
  folder.write("rows.csv", "step_ms,nodess\n1,1\n");
  EXPECT_EQ(refusal(file), file + ":1: unknown key 'nodess'; did you mean 'nodes'?");
  folder.write("rows.csv", "step_ms,devices\n1\n");
  EXPECT_EQ(refusal(file), file + ":2: 1 cells, and the header has 2");
  folder.write("rows.csv", "step_ms,devices\n1,1\n,1\n");
  EXPECT_EQ(refusal(file), file + ":3: step_ms is missing");
  folder.write("rows.csv", "step_ms,devices\n");
  EXPECT_EQ(refusal(file), file + ": there is no row");
}

}  // namespace
}  // namespace lockstep
