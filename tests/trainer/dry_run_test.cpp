// What a config compiles to, without weights and without kernels.
#include "trainer/dry_run.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/settings.h"
#include "trainer/config/load.h"
#include "trainer/registry/registry.h"

namespace lockstep {
namespace {

/// GPT-2 with 1.5 billion parameters: its state alone is 17 GiB, its activations 6.
constexpr const char* kGpt2Xl = R"(
model: {name: gpt2, n_layer: 48, n_head: 25, n_embd: 1600, block_size: 1024, vocab_size: 50257}
data: {type: synthetic, sequence_length: 1024}
training: {max_steps: 1, global_batch_size: 1, micro_batch_size: 1}
optimizer: {name: adamw, learning_rate: 0.001}
device: {memory_gb: 64}
)";

double peak_mib() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return static_cast<double>(use.ru_maxrss) / 1024;
}

TEST(CompileConfig, PlansAModelThatTheMachineCouldNotHold) {
  const Registry registry = built_in();
  const SteadyClock clock;
  const std::int64_t begin = clock.now_ns();
  const CompiledConfig compiled =
      compile_config(parse_config(kGpt2Xl, "test.yaml", registry).config, registry,
                     settings_from_environment().max_isa);
  const double seconds = static_cast<double>(clock.now_ns() - begin) * 1e-9;
  EXPECT_EQ(compiled.parameters, 1'557'611'200);
  EXPECT_GT(compiled.step->shard.commands.size(), 1000U);
  EXPECT_GT(compiled.step->shard.arena_bytes, std::int64_t{1} << 32);
  RecordProperty("seconds", std::to_string(seconds));
  RecordProperty("peak_mib", std::to_string(peak_mib()));
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take time and memory of their own";
#endif
  EXPECT_LT(seconds, 5) << "0.3 s on an idle core";
  EXPECT_LT(peak_mib(), 1024) << "150 MiB with the test program";
}

}  // namespace
}  // namespace lockstep
