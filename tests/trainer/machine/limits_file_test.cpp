#include "trainer/machine/limits_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/fixtures/error_of.h"
#include "tests/fixtures/temporary_folder.h"
#include "trainer/calibrate/limits_table.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

const MachineKind kTestMachine{"0123456789abcdef0123456789abcdef", "Test CPU", 2, Isa::kAvx512,
                               Bf16Units::kTiles};

MachineLimits calibrated_limits() {
  MachineLimits out = default_limits(kTestMachine);
  out.calibration = {.measured = true,
                     .quick = false,
                     .date = "2026-11-23T05:40:12Z",
                     .build = "abc",
                     .seconds = 31.5};
  out.dots[0].flops_per_s = 123456789012.5;
  out.dots[1].cores = {2, 1};
  out.dots[1].spread = 1.25;
  out.memory[0].triad_bytes_per_s = 1e9 / 3;
  out.steps = {.work = {{"dot", DType::kBF16, {1, 2}, 1.125, 0x1p-30, 0x1p-4}},
               .overheads = {{{1, 2}, 0, 0.03125}},
               .sums_bytes_per_s = 1e10,
               .deviation = 0.0625};
  return out;
}

TEST(LimitsFile, WhatIsWrittenIsReadBackToTheLastBit) {
  const TemporaryFolder folder;
  const MachineLimits limits = calibrated_limits();
  write_limits(folder / "limits.json", limits);
  const FoundLimits found = read_limits(folder / "limits.json", kTestMachine);
  EXPECT_EQ(found.warning, "");
  EXPECT_EQ(to_json(found.limits), to_json(limits));
  EXPECT_EQ(found.limits.dots[0].flops_per_s, 123456789012.5);
  EXPECT_EQ(found.limits.memory[0].triad_bytes_per_s, 1e9 / 3);
  EXPECT_EQ(found.limits.dots[1].cores, (BusyCores{2, 1}));
  EXPECT_EQ(work_factor(found.limits.steps, "dot", DType::kBF16, {1, 2}).seconds(8, 0x1p30, 16),
            11);
  EXPECT_EQ(step_overhead(found.limits.steps, {1, 2}).waits, 0.03125);
  EXPECT_EQ(found.limits.steps.deviation, 0.0625);
  EXPECT_EQ(found.limits.origin(), "calibrated 2026-11-23T05:40:12Z");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"limits.json"}) << "no temporary is left";
}

TEST(LimitsFile, WithoutAFileTheDefaultIsUsedAndNothingIsSaid) {
  const TemporaryFolder folder;
  for (const std::string& path : {folder / "none.json", std::string()}) {
    const FoundLimits found = read_limits(path, kTestMachine);
    EXPECT_EQ(found.warning, "");
    EXPECT_EQ(found.limits.origin(), "not calibrated: default");
  }
}

/// That a file with this text is not used, and why.
std::string refused_limits(const std::string& text) {
  const TemporaryFolder folder;
  const std::string path = folder.write("limits.json", text);
  const FoundLimits found = read_limits(path, kTestMachine);
  EXPECT_FALSE(found.limits.calibration.measured) << text;
  EXPECT_THAT(found.warning, HasSubstr(path));
  EXPECT_THAT(found.warning, HasSubstr("a default is used instead, and `lockstep calibrate`"));
  return found.warning;
}

std::string with_text(std::string text, const std::string& old, const std::string& now) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return text.replace(at, old.size(), now);
}

TEST(LimitsFile, ATextThatWasCutAnywhereIsDamaged) {
  const std::string text = to_json(calibrated_limits());
  for (std::size_t bytes = 0; bytes < text.size(); bytes += 7)
    EXPECT_NE(refused_limits(text.substr(0, bytes)), "");
}

TEST(LimitsFile, FilesThatKnowNothingOfStepsAreRead) {
  const TemporaryFolder folder;
  MachineLimits limits = calibrated_limits();
  limits.steps = {};
  const std::string text = with_text(to_json(limits), " \"steps\": null,\n", "");
  const FoundLimits found = read_limits(folder.write("limits.json", text), kTestMachine);
  EXPECT_EQ(found.warning, "");
  EXPECT_FALSE(found.limits.steps.measured());
}

TEST(LimitsFile, WhatNoMachineHasIsRefused) {
  EXPECT_THAT(refused_limits(
                  with_text(to_json(calibrated_limits()), "\"factor\": 1.125", "\"factor\": -1")),
              HasSubstr("factor is -1, which no machine has"));
  const std::string text = to_json(calibrated_limits());
  EXPECT_THAT(refused_limits("[1, 2]"), HasSubstr("it is not a calibration"));
  EXPECT_THAT(refused_limits("\x80\xff"), HasSubstr(":1:1: not valid JSON"));
  const auto expect_refused = [&](const char* old, const char* now, const char* why) {
    EXPECT_THAT(refused_limits(with_text(text, old, now)), HasSubstr(why));
  };
  expect_refused("lockstep calibration", "other", "it is not a calibration");
  expect_refused(R"("version": 1)", R"("version": 9)", "it has version 9, and this build reads 1");
  expect_refused("123456789012.5", "-1", "flops_per_s is -1, which no machine has");
  expect_refused("123456789012.5", R"("fast")", "it is damaged");
  expect_refused(R"("threads": 1)", R"("threads": 1e30)", "which is not a count");
  expect_refused(R"("threads": 1)", R"("threads": 1.5)", "which is not a count");
  expect_refused(R"("dtype": "f32")", R"("dtype": "f99")", "there is no dtype 'f99'");
  expect_refused(R"("isa": "avx512")", R"("isa": "neon")", "'neon' is not known");
}

TEST(LimitsFile, AFileOfAnotherMachineIsNotUsed) {
  MachineLimits limits = calibrated_limits();
  limits.machine.cores = 64;
  EXPECT_THAT(refused_limits(to_json(limits)),
              HasSubstr("it is of another machine (Test CPU, 64 cores, AVX-512 with AMX; this is "
                        "Test CPU, 2 cores, AVX-512 with AMX)"));
}

TEST(LimitsFile, SumsAloneAreNoLimits) {
  MachineLimits limits = calibrated_limits();
  limits.dots.clear();
  EXPECT_THAT(refused_limits(to_json(limits)), HasSubstr("it has no dots of f32"));
  limits = calibrated_limits();
  limits.memory.clear();
  EXPECT_THAT(refused_limits(to_json(limits)), HasSubstr("it has no memory bandwidth"));
  limits = calibrated_limits();
  limits.bundle_ns = 0;
  EXPECT_THAT(refused_limits(to_json(limits)), HasSubstr("it has no cost of a bundle"));
  EXPECT_EQ(parse_limits(to_json(limits), "here").all_reduce.size(), limits.all_reduce.size());
}

TEST(LimitsFile, AFolderInItsPlaceIsNotRead) {
  const TemporaryFolder folder;
  EXPECT_NE(read_limits(folder.path(), kTestMachine).warning, "");
}

TEST(LimitsFile, HasItsOwnNameForEachKindOfMachine) {
  Settings settings;
  EXPECT_EQ(limits_path(settings, kTestMachine), "");
  settings.cache_home = "/cache";
  MachineKind machine = kTestMachine;
  EXPECT_EQ(limits_path(settings, machine),
            "/cache/lockstep/calibration-0123456789abcdef-2-avx512-amx.json");
  machine.isa = Isa::kAvx2;
  machine.bf16 = Bf16Units::kNone;
  machine.cores = 8;
  EXPECT_EQ(limits_path(settings, machine),
            "/cache/lockstep/calibration-0123456789abcdef-8-avx2.json");
}

TEST(LimitsFile, APlaceThatCannotBeWrittenIsFoundBefore) {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "x");
  const auto check = [](const std::string& path) {
    return error_of([&] { check_limits_path(path); });
  };
  EXPECT_THAT(check(file + "/below.json"), HasSubstr("the folder cannot be made"));
  EXPECT_THAT(check(folder.path()), HasSubstr("it is a folder"));
  EXPECT_NE(check("/proc/limits.json"), "");
  check_limits_path(folder / "new/folder/limits.json");
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"file", "new"}));
}

TEST(LimitsTable, MarksWhatWasDisturbed) {
  MachineLimits limits = calibrated_limits();
  limits.dots[0].cores = limits.dots[1].cores;
  const std::string text = to_table(limits);
  EXPECT_THAT(text, HasSubstr("Test CPU, 2 cores, AVX-512 with AMX\ncalibrated 2026-11-23"));
  EXPECT_THAT(text, HasSubstr("             123\n"));
  EXPECT_THAT(text, HasSubstr("            ~750\n"));
  EXPECT_THAT(text, HasSubstr("2 ranks, 4.00KiB"));
  EXPECT_THAT(text, HasSubstr("dots are fast in f32 bf16\n"));
}

}  // namespace
}  // namespace lockstep
