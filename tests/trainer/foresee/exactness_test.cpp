// What is foreseen without the kernels of any machine is what this machine's programs do, for every
// config of the project whose data is part of it.
#include <gtest/gtest.h>

#include <filesystem>

#include "trainer/apps/run_planner.h"
#include "trainer/foresee/foresee.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

/// Of products, convolutions and attention.
double heavy_flops(const Plan& plan) {
  double out = 0;
  for (const Command& command : plan.commands)
    if (command.work == WorkClass::kDot || command.work == WorkClass::kConvolution ||
        command.work == WorkClass::kAttention)
      out += command.flops;
  return out;
}

double heavy_flops(const ForeseenStep& step) {
  double out = 0;
  for (const KernelWork& kernel : step.work.heavy)
    out += kernel.flops * static_cast<double>(kernel.count);
  return out;
}

TEST(Exactness, OfEveryConfigWithSyntheticData) {
  const Registry registry = built_in();
  int seen = 0;
  for (const auto& file : fs::directory_iterator(LOCKSTEP_SOURCE_DIR "/configs/bench")) {
    SCOPED_TRACE(file.path().filename().string());
    const Config config = load_config(file.path().string(), registry).config;
    if (config.data.type != "synthetic") continue;
    const ForeseenStep step = foresee_step(config, registry);
    const PlannedRun here = plan_config(config, registry);
    EXPECT_EQ(heavy_flops(step), heavy_flops(here.step->gradient));
    EXPECT_EQ(step.run.step->reduction.bytes, here.step->reduction.bytes);
    EXPECT_EQ(step.run.state, here.state);
    EXPECT_EQ(step.run.micro_batch_bytes, here.micro_batch_bytes);
    ++seen;
  }
  EXPECT_GE(seen, 8);
}

}  // namespace
}  // namespace lockstep
