#include "trainer/devices/device_profiles.h"

#include <gmock/gmock.h>

#include <set>

#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kProfileYaml = R"(kind: gpu
sources:
  sheet: "a data sheet"
peak_tflops: {fp32: [10, sheet], bf16: [100, sheet]}
tensor_units: [bf16]
matmul_fraction: [0.8, estimate]
memory_gib: [40, sheet]
memory_gb_per_s: [1000, sheet]
memory_fraction: [0.9, estimate]
compute_units: [100, sheet]
launch_us: {eager: [5, estimate], graph: [3, estimate], xla: [4, estimate]}
)";

DeviceProfile parse_profile(const std::string& text) {
  return parse_device_profile(text, "mine.yaml", "mine");
}

/// The error of the profile with `from` replaced.
std::string error_with(const std::string& from, const std::string& to) {
  std::string text = kProfileYaml;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  text.replace(at, from.size(), to);
  return usage_error([&] { parse_profile(text); });
}

TEST(DeviceProfiles, KeepFiguresAndTheirSources) {
  const DeviceProfile profile = parse_profile(kProfileYaml);
  EXPECT_EQ(profile.name, "mine");
  EXPECT_EQ(profile.peak(MathType::kBf16), 100e12);
  EXPECT_EQ(profile.peak(MathType::kFp16), std::nullopt);
  EXPECT_TRUE(profile.has_tensor_units(MathType::kBf16));
  EXPECT_FALSE(profile.has_tensor_units(MathType::kFp32));
  EXPECT_EQ(profile.memory_gib.value, 40);
  EXPECT_EQ(profile.memory_gib.source, "a data sheet");
  EXPECT_TRUE(profile.memory_fraction.is_estimate());
}

TEST(DeviceProfiles, NameThePlaceOfAMistake) {
  EXPECT_EQ(error_with("memory_gib:", "memory_gb:"),
            "mine.yaml:7:1: unknown key 'memory_gb'; did you mean 'memory_gib'?\n"
            "mine.yaml:1:1: 'memory_gib' is missing: GiB");
  EXPECT_EQ(error_with("bf16: [100, sheet]", "bf61: [100, sheet]"),
            "mine.yaml:4:34: unknown key 'peak_tflops.bf61'; did you mean 'peak_tflops.bf16'?");
  EXPECT_EQ(error_with("[40, sheet]", "40"),
            "mine.yaml:7:1: 'memory_gib' must be a number and its source, [312, sheet], not '40'");
  EXPECT_EQ(
      error_with("[40, sheet]", "[40]"),
      "mine.yaml:7:1: 'memory_gib' must be a number and its source, [312, sheet], not a list");
  EXPECT_EQ(error_with("[40, sheet]", "[many, sheet]"),
            "mine.yaml:7:1: 'memory_gib' must be a number and its source, [312, sheet]; 'many' is "
            "no number");
  EXPECT_EQ(error_with("[40, sheet]", "[0, sheet]"),
            "mine.yaml:7:1: 'memory_gib' must be > 0 and <= 1e+09, not 0");
  EXPECT_EQ(
      error_with("[40, sheet]", "[nan, sheet]"),
      "mine.yaml:7:1: 'memory_gib' must be a number and its source, [312, sheet]; 'nan' is no "
      "number");
  EXPECT_EQ(error_with("[40, sheet]", "[40, book]"),
            "mine.yaml:7:1: 'memory_gib' names the source 'book', which 'sources' does not have; a "
            "figure without one is an 'estimate'");
  EXPECT_EQ(error_with("[0.9, estimate]", "[90, estimate]"),
            "mine.yaml:9:1: 'memory_fraction' is a part of 1, not 90");
  EXPECT_EQ(error_with("kind: gpu", "kind: cpus"),
            "mine.yaml:1:1: 'kind' must be gpu, tpu, npu or cpu, not 'cpus'");
  EXPECT_EQ(error_with("[bf16]", "[bf17]"),
            "mine.yaml:5:1: 'tensor_units' knows fp32, tf32, bf16, fp16 and fp8, not 'bf17'");
}

TEST(DeviceProfiles, ListAllMistakesAtOnce) {
  EXPECT_EQ(
      usage_error([] { parse_profile("kind: gpu\nform: x\nmemory_gib: [a, b]\n"); }),
      "mine.yaml:3:1: 'memory_gib' must be a number and its source, [312, sheet]; 'a' is no "
      "number\n"
      "mine.yaml:1:1: 'matmul_fraction' is missing: of the peak that the largest products "
      "reach\n"
      "mine.yaml:1:1: 'memory_gb_per_s' is missing: 1e9 bytes a second\n"
      "mine.yaml:1:1: 'memory_fraction' is missing: of it that a copy reaches\n"
      "mine.yaml:1:1: 'compute_units' is missing: streaming multiprocessors, product units or "
      "cores\n"
      "mine.yaml:1:1: 'launch_us.eager' is missing: microseconds between kernels that a "
      "framework starts one by one\n"
      "mine.yaml:1:1: 'launch_us.graph' is missing: the same in a recorded graph\n"
      "mine.yaml:1:1: 'launch_us.xla' is missing: the same in an XLA program\n"
      "mine.yaml:1:1: 'peak_tflops' is missing: TFLOP/s of fp32, tf32, bf16, fp16 or fp8");
  EXPECT_EQ(usage_error([] { parse_profile("- 1\n"); }),
            "mine.yaml:1:1: a device profile is a section of keys, not a list");
}

/// Every built-in profile is read without an error, and what it says of tensor units fits its
/// peaks.
TEST(BuiltInDevices, AreComplete) {
  std::set<std::string> names;
  for (const DeviceProfile& device : built_in_devices()) {
    EXPECT_TRUE(names.insert(device.name).second) << device.name;
    EXPECT_THAT(device.form, Not(IsEmpty())) << device.name;
    for (std::size_t i = 0; i < kMathTypes; ++i)
      EXPECT_LE(device.on_tensor_units[i], device.peak_tflops[i].has_value())
          << device.name << " " << name_of(static_cast<MathType>(i));
  }
  for (const char* name : {"v100-sxm2-16gb", "p100-sxm2-16gb", "k80", "a100-sxm4-80gb",
                           "h100-sxm5-80gb", "h200-sxm-141gb", "rtx3090-24gb", "rtx4090-24gb",
                           "tpuv2", "tpuv5p", "trainium1", "mi300x", "xeon8380h"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(FindDevice, SuggestsAName) {
  EXPECT_EQ(find_device("A100-SXM4-80GB").name, "a100-sxm4-80gb");
  EXPECT_EQ(usage_error([] { find_device("a100-sxm4-81gb"); }),
            "there is no device 'a100-sxm4-81gb'; did you mean 'a100-sxm4-80gb'? (`lockstep "
            "devices` lists them; a file of your own ends with .yaml)");
  EXPECT_THAT(data_error([] { find_device("none/mine.yaml"); }), HasSubstr("none/mine.yaml"));
}

}  // namespace
}  // namespace lockstep
