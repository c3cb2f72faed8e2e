// The cost of compiling a training step for a batch of another length: counted, not timed
// (bench/new_length does that).
#include <gtest/gtest.h>

#include "core/engine/compile.h"
#include "core/engine/update_plans.h"
#include "core/kernels/kernel_cache.h"
#include "core/runtime/loaded_step.h"
#include "tests/fixtures/tested_target.h"
#include "trainer/apps/dry_run.h"
#include "trainer/config/load.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

/// Steps of a small GPT-2, compiled one after the other as a run does.
struct CompiledLengths {
  explicit CompiledLengths(std::string model) : model_(std::move(model)) {}

  void compile(int length) {
    const std::string text = fmt::format(
        "model: {{name: gpt2, n_layer: 2, n_head: 2, n_embd: 128, block_size: 256, "
        "vocab_size: 300{}\ndata: {{type: synthetic, sequence_length: {}}}\n"
        "optimizer: {{name: adamw, learning_rate: 0.001}}\n",
        model_, length);
    Graph step =
        compile_config(parse_config(text, "test.yaml", registry_).config, registry_).step->step;
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

  std::string model_;
  Registry registry_ = built_in();
  CompileOptions options_ = options();
  std::vector<std::shared_ptr<LoadedStep>> steps_;
};

void expect_nothing_new(const std::string& model) {
  CompiledLengths steps(model);
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
  expect_nothing_new("}\ntraining: {max_steps: 1, global_batch_size: 4, micro_batch_size: 4}");
}

TEST(NewLength, CompilesNoFunctionInBf16WithDropout) {
  expect_nothing_new(
      ", dropout: 0.1}\n"
      "training: {max_steps: 1, global_batch_size: 4, micro_batch_size: 4, precision: bf16-mixed}");
}

}  // namespace
}  // namespace lockstep
