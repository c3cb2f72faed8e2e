// The host thread's cost of a training step whose program is already compiled: it records the step
// with its gradients, cuts, hashes, looks it up and binds placeholders. No kernel runs and no
// tensor has memory. Under callgrind, `--toggle-collect=*HostStep::run*` counts the same work.

#include <benchmark/benchmark.h>

#include "collectives/single.h"
#include "trainer/apps/from_config.h"
#include "trainer/job/rank_runtime.h"
#include "trainer/models/gpt2/gpt2_config.h"
#include "trainer/registry/registry.h"
#include "trainer/train/training_step.h"

namespace lockstep {
namespace {

Tensor phantom(Engine& engine, const Type& type, InputKind kind, const std::string& name) {
  return engine.adopt(std::make_shared<DeviceTensor>(type, name), kind, name);
}

Config mlp() {
  Config out;
  out.model.name = "mlp";
  return out;
}

/// configs/bench/gpt_micro.yaml.
Config gpt_micro() {
  Config out;
  out.model = {"gpt2",
               OwnConfig(Gpt2Config{
                   .n_layer = 4, .n_head = 4, .n_embd = 128, .n_positions = 64, .vocab_size = 65})};
  return out;
}

class HostStep {
 public:
  explicit HostStep(const Config& config)
      : runtime_(config, Settings{}, make_single_communicator(), watch_),
        model_(registry_.make_model(config.model, {})),
        state_(make_training_state(config, registry_, *model_)),
        inputs_{
            phantom(runtime_.engine(), {DType::kI64, Shape{}}, InputKind::kBatch, "micro_batch"),
            0} {
    Engine& engine = runtime_.engine();
    Batch::Fields fields;
    const auto add = [&](const char* name, const Type& type) {
      fields[name] = phantom(engine, type, InputKind::kBatch, std::string("batch.") + name);
    };
    if (config.model.name == "mlp") {
      add("image", {DType::kF32, Shape{64, 1, 28, 28}});
      add("label", {DType::kI32, Shape{64}});
    } else {
      add("tokens", {DType::kI32, Shape{12, 64}});
      add("targets", {DType::kI32, Shape{12, 64}});
    }
    batch_ = Batch(std::move(fields));
    for (const StateTensor& tensor : state_tensors(state_))
      *tensor.value = phantom(engine, tensor.type, tensor.kind(), tensor.label());
  }

  void compile() {
    const StepNumbers result = record_step(state_, std::cref(*model_), batch_, inputs_, update_);
    runtime_.engine().compile_pending();
  }
  [[gnu::noinline]] void run() { compile(); }

 private:
  Registry registry_ = built_in();
  Watch watch_;
  RankRuntime runtime_;
  std::unique_ptr<Model> model_;
  TrainingState state_;
  StepInputs inputs_;
  Batch batch_;
  UpdateOptions update_;
};

void host_step(benchmark::State& state, const Config& config) {
  HostStep step(config);
  step.compile();
  for (auto _ : state) step.run();
}

}  // namespace

BENCHMARK_CAPTURE(host_step, mlp, mlp())->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(host_step, gpt_micro, gpt_micro())->Unit(benchmark::kMicrosecond);

}  // namespace lockstep
