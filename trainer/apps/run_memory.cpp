#include "trainer/apps/run_memory.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "collectives/single.h"
#include "core/base/error.h"
#include "core/engine/compile.h"
#include "data/length_buckets.h"
#include "trainer/apps/from_config.h"
#include "trainer/registry/registry.h"
#include "trainer/task/model.h"
#include "trainer/train/device_feed.h"

namespace lockstep {
namespace {

/// A tensor of the right type whose memory never exists.
Tensor phantom(Engine& engine, Type type, InputKind kind, const std::string& name) {
  return engine.adopt(std::make_shared<DeviceTensor>(type, name), kind, name);
}

void give_phantoms(TrainingState& state, Engine& engine) {
  for (const StateTensor& tensor : state_tensors(state))
    *tensor.value = phantom(engine, tensor.type, tensor.kind(), tensor.label());
}

Batch phantom_batch(Engine& engine, const BatchTypes& batch) {
  Batch::Fields out;
  for (const auto& [name, type] : batch)
    out[name] = phantom(engine, type, InputKind::kBatch, "batch." + name);
  return Batch(std::move(out));
}

std::shared_ptr<const CompiledStep> compile_evaluation(const Config& config, Engine& engine,
                                                       TrainingState& state,
                                                       const LossFunction& loss,
                                                       const BatchTypes& batch) {
  give_phantoms(state, engine);
  const Batch fields = phantom_batch(engine, batch);
  const Loss result =
      record_evaluation(loss, fields, state.compute_dtype,
                        config.eval.metrics.empty() ? LossOutputs::kDrop : LossOutputs::kKeep);
  return engine.compile_pending();
}

/// The step's results must live until it is cut: what nobody holds is no output.
StepNumbers trace_training(const Config& config, Engine& engine, TrainingState& state,
                           const LossFunction& loss, const BatchTypes& batch) {
  give_phantoms(state, engine);
  const Batch fields = phantom_batch(engine, batch);
  const StepInputs inputs{phantom(engine, {DType::kI64, Shape{}}, InputKind::kBatch, "micro_batch"),
                          0};
  UpdateOptions update;
  update.clip_norm = config.training.gradient_clip_norm;
  update.stop_at_nonfinite = config.training.on_nonfinite == OnNonfinite::kStop;
  return record_step(state, loss, fields, inputs, update);
}

bool evaluates(const Config& config, const DataSource& data) {
  return config.eval.interval > 0 && data.validation != nullptr;
}

/// Whether steps differ in their memory.
bool lengths_vary(const Config& config, const DataSource& data) {
  return config.data.padding != PaddingMode::kMax &&
         std::ranges::any_of(data.train->fields(), &FieldSpec::variable_length);
}

/// An engine besides that of the run, so that programs that are only planned are neither counted
/// nor kept.
class Planner {
 public:
  explicit Planner(RankRuntime& runtime)
      : device_(DeviceOptions{}, spans_),
        engine_(options(runtime), context_, device_, *communicator_, Log::null()) {}
  Engine& engine() { return engine_; }

 private:
  static CompileOptions options(RankRuntime& runtime) {
    CompileOptions out = runtime.engine().options();
    out.artifacts = {};
    out.dump_folder.clear();
    return out;
  }

  SteadyClock clock_;
  Metrics metrics_{clock_};
  SpanStream spans_{clock_, metrics_};
  std::unique_ptr<Communicator> communicator_ = make_single_communicator();
  Device device_;
  TraceContext context_;
  Engine engine_;
};

/// Nothing for a model whose steps cannot be recorded: the first step reports the error.
std::optional<RunMemory> foresee(const Config& config, const Registry& registry,
                                 RankRuntime& runtime, const DataSource& data,
                                 const StepPlan& plan) {
  const ForeignCall call(runtime.activity(), "planning the run's memory");
  Planner planner(runtime);
  const std::unique_ptr<Model> model = registry.make_model(config.model, {data.vocab_size});
  TrainingState state = make_training_state(config, registry, *model);
  const BatchTypes fields = longest_batch(config, data, plan.sampler);
  try {
    const auto step = compile_training(config, planner.engine(), state, std::cref(*model), fields);
    return run_memory(config, runtime.device().options(), planner.engine(), state,
                      std::cref(*model), data, plan.batch, fields, *step);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

Graph record_training(const Config& config, Engine& engine, TrainingState& state,
                      const LossFunction& loss, const BatchTypes& batch) {
  const StepNumbers live = trace_training(config, engine, state, loss, batch);
  return engine.take_recorded();
}

std::shared_ptr<const CompiledStep> compile_training(const Config& config, Engine& engine,
                                                     TrainingState& state, const LossFunction& loss,
                                                     const BatchTypes& batch) {
  const StepNumbers live = trace_training(config, engine, state, loss, batch);
  return engine.compile_pending();
}

RunMemory run_memory(const Config& config, const DeviceOptions& device, Engine& engine,
                     TrainingState& state, const LossFunction& loss, const DataSource& data,
                     const BatchPlan& batch, const BatchTypes& fields, const CompiledStep& step) {
  const std::int64_t in_flight = device.steps_in_flight();
  RunMemory out;
  out.state = state_bytes(state);
  out.step = step_memory(step, batch.micro_batches_per_rank);
  const std::int64_t micro_batch = batch_bytes(fields);
  const std::int64_t number = batch_bytes({{"micro_batch", {DType::kI64, Shape{}}}});
  out.batches =
      batch.micro_batches_per_rank *
      (batches_on_device(device, config.data.device_prefetch_size) * micro_batch + number);
  out.step_results = out.results = in_flight * out.step.results;
  if (!evaluates(config, data)) return out;
  const std::int64_t samples =
      config.eval.batch_size > 0 ? config.eval.batch_size : batch.micro_batch_size;
  const Padding padding = evaluation_padding(padding_of(config.data), *data.validation, samples,
                                             config.eval.max_batches);
  const BatchTypes types = eval_batch_types(*data.validation, padding, samples);
  const auto evaluation = compile_evaluation(config, engine, state, loss, types);
  const StepMemory need = step_memory(*evaluation, 1);
  out.results = std::max(out.results, in_flight * need.results);
  out.evaluation = std::max<std::int64_t>(in_flight * batch_bytes(types) + need.total() -
                                              need.results - (out.step.total() - out.step.results),
                                          0);
  return out;
}

BatchTypes longest_batch(const Config& config, const DataSource& data, const StepSampler& sampler) {
  const Padding padding = step_padding(padding_of(config.data), *data.train, sampler).padding;
  return train_batch_types(*data.train, padding, config.batch.micro_batch_size);
}

void check_run_memory(const Config& config, const Registry& registry, RankRuntime& runtime,
                      const DataSource& data, const StepPlan& plan) {
  const bool varies = lengths_vary(config, data);
  if (!varies && !evaluates(config, data)) return;  // the first step takes as much as any other
  const auto limit = static_cast<std::int64_t>(runtime.device().options().memory_bytes);
  const std::optional<RunMemory> need = foresee(config, registry, runtime, data, plan);
  if (!need || need->total() <= limit) return;
  const bool trains = need->training() <= limit;
  if (!trains && !varies) return;
  raise(ErrorKind::kOutOfMemory,
        "the run does not fit the device: {} take {} ({} bytes) at their peak, and the limit is {} "
        "(device.memory_gb); lower {} or raise the limit, --dry-run shows what a run needs",
        trains ? "its evaluations" : "steps of its longest samples",
        format_bytes(static_cast<double>(need->total())), need->total(),
        format_bytes(static_cast<double>(limit)),
        trains ? "eval.batch_size" : "training.micro_batch_size");
}

}  // namespace lockstep
