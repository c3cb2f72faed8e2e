// What a config compiles to, without weights and without kernels.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/settings.h"
#include "core/runtime/compiled_step.h"
#include "core/runtime/plan.h"
#include "core/trace/functions.h"
#include "core/trace/gradients.h"
#include "core/trace/host_call.h"
#include "tests/fixtures/sanitizers.h"
#include "trainer/apps/run_planner.h"
#include "trainer/config/load.h"
#include "trainer/registry/registry.h"
#include "trainer/task/model.h"

namespace lockstep {
namespace {

/// GPT-2 with 1.5 billion parameters: its state alone is 17 GiB, its activations 4.
constexpr const char* kGpt2Xl = R"(
model: {name: gpt2, n_layer: 48, n_head: 25, n_embd: 1600, block_size: 1024, vocab_size: 50257}
data: {type: synthetic, sequence_length: 1024}
training: {max_steps: 1, global_batch_size: 1, micro_batch_size: 1}
optimizer: {name: adamw, learning_rate: 0.001}
device: {memory_gb: 64}
)";

rusage own_use() {
  rusage out{};
  getrusage(RUSAGE_SELF, &out);
  return out;
}

double peak_mib() {
  return static_cast<double>(own_use().ru_maxrss) / 1024;
}

/// Of all threads of the process.
double cpu_seconds() {
  const rusage use = own_use();
  return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

PlannedRun compile(const char* yaml, const Registry& registry) {
  return plan_config(parse_config(yaml, "test.yaml", registry).config, registry,
                     settings_from_environment().max_isa);
}

TEST(CompileConfig, PlansAModelThatTheMachineCouldNotHold) {
  const double begin = cpu_seconds();
  const PlannedRun compiled = compile(kGpt2Xl, built_in());
  const double seconds = cpu_seconds() - begin;
  EXPECT_EQ(compiled.parameters, 1'557'611'200);
  EXPECT_GT(compiled.step->gradient.commands.size(), 1000U);
  EXPECT_GT(compiled.step->gradient.peak_bytes, std::int64_t{6} << 30);
  RecordProperty("seconds", std::to_string(seconds));
  RecordProperty("peak_mib", std::to_string(peak_mib()));
  if (kSanitized) GTEST_SKIP() << "sanitizers take time and memory of their own";
  // The promise is 5 s of one's time on an idle machine. What the processors worked is no less than
  // that where one thread compiles, and, unlike it, not longer because others work, too.
  EXPECT_LT(seconds, 5) << "0.3 s measured";
  EXPECT_LT(peak_mib(), 1024) << "150 MiB with the test program";
}

/// Asks the host for its loss.
struct HostedModel final : Model {
  static constexpr std::string_view kName = "hosted";
  static constexpr std::string_view kDoc = "for tests";
  struct Config {
    static std::vector<Key> keys() { return {}; }
    DataNeeds needs() const { return {.inputs = "tokens", .vocab_size = 3}; }
    void check(const lockstep::Config&, const ReportProblem&) const {}
  };

  explicit HostedModel(const Config&)
      : w_(parameter("w", Shape{4}, ParameterKind::kVector, Initializer::normal(1))) {}
  Loss operator()(const Batch& batch) const override {
    const HostFunction never("never", 1, [](std::span<const HostTensor>, std::span<HostTensor>) {
      ADD_FAILURE() << "a function of the host was called";
    });
    const Tensor factor = host_call(never, {stop_gradient(w_.value)}, Type{DType::kF32, Shape{4}});
    return {.sum = sum(w_.value * factor), .count = batch.count()};
  }

 private:
  Parameter& w_;
};

TEST(CompileConfig, PlansWhatCallsFunctionsOfTheHostWithoutCallingThem) {
  Registry registry = built_in();
  registry.add_model<HostedModel>();
  const PlannedRun compiled = compile(R"(
model: {name: hosted}
data: {type: synthetic, sequence_length: 8}
training: {max_steps: 1, global_batch_size: 1, micro_batch_size: 1}
optimizer: {name: sgd, learning_rate: 0.001}
)",
                                      registry);
  EXPECT_EQ(
      std::ranges::count(compiled.step->gradient.commands, CommandKind::kHostCall, &Command::kind),
      1);
}

}  // namespace
}  // namespace lockstep
