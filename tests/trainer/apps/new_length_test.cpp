// The cost of compiling a training step for a batch of another length: counted, not timed
// (bench/new_length does that).
#include <gtest/gtest.h>

#include "core/engine/compile.h"
#include "core/engine/update_plans.h"
#include "core/kernels/kernel_cache.h"
#include "core/runtime/loaded_step.h"
#include "tests/fixtures/tested_target.h"
#include "trainer/apps/run_planner.h"
#include "trainer/config/load.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

/// Steps of a small model, compiled one after the other as a run does.
struct CompiledLengths {
  /// `config`: the sections "model" and "training".
  explicit CompiledLengths(std::string config) : config_(std::move(config)) {}

  void compile(int length) {
    const std::string text = fmt::format(
        "{}data: {{type: synthetic, sequence_length: {}}}\n"
        "optimizer: {{name: adamw, learning_rate: 0.001}}\n",
        config_, length);
    Graph step =
        plan_config(parse_config(text, "test.yaml", registry_).config, registry_).step->step;
    steps_.push_back(load_step(
        compile_step(std::move(step), options_, kernels, updates, Log::null()), options_, kernels));
  }

  KernelCache kernels{tested_target()};
  UpdatePlans updates;

 private:
  static CompileOptions options() {
    CompileOptions out;
    out.target = tested_target();
    return out;
  }

  std::string config_;
  Registry registry_ = built_in();
  CompileOptions options_ = options();
  std::vector<std::shared_ptr<LoadedStep>> steps_;
};

constexpr const char* kGpt2 =
    "model: {name: gpt2, n_layer: 2, n_head: 2, n_embd: 128, block_size: 256, vocab_size: 300";
constexpr const char* kBatch = "global_batch_size: 4, micro_batch_size: 4";

void expect_nothing_new(const std::string& config) {
  CompiledLengths steps(config);
  steps.compile(64);
  const std::int64_t functions = steps.kernels.compiled();
  EXPECT_GT(functions, 10);
  for (const int length : {96, 128, 33, 40}) {
    steps.compile(length);
    EXPECT_EQ(steps.kernels.compiled(), functions) << "functions after length " << length;
  }
  EXPECT_EQ(steps.updates.compiled(), 1) << "update programs";
}

TEST(NewLength, CompilesNoFunctionInF32) {
  expect_nothing_new(fmt::format("{}}}\ntraining: {{max_steps: 1, {}}}\n", kGpt2, kBatch));
}

TEST(NewLength, CompilesNoFunctionInBf16WithDropout) {
  expect_nothing_new(
      fmt::format("{}, dropout: 0.1}}\ntraining: {{max_steps: 1, precision: bf16-mixed, {}}}\n",
                  kGpt2, kBatch));
}

TEST(NewLength, OfCaptionsCompilesNoFunction) {
  expect_nothing_new(fmt::format(
      "model:\n"
      "  name: vit_gpt2\n"
      "  encoder: {{image_size: 32, patch_size: 8, hidden_size: 64, num_hidden_layers: 2, "
      "num_attention_heads: 2, intermediate_size: 96}}\n"
      "  decoder: {{n_layer: 2, n_head: 2, n_embd: 128, n_positions: 256, vocab_size: 300}}\n"
      "training: {{max_steps: 1, {}}}\n",
      kBatch));
}

}  // namespace
}  // namespace lockstep
