#include "trainer/apps/run_planner.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "collectives/single.h"
#include "core/base/error.h"
#include "core/engine/engine.h"
#include "data/length_buckets.h"
#include "trainer/apps/caption_metrics.h"
#include "trainer/apps/from_config.h"
#include "trainer/registry/open_data.h"
#include "trainer/registry/registry.h"
#include "trainer/task/batch_types.h"
#include "trainer/task/model.h"
#include "trainer/telemetry/record.h"
#include "trainer/train/averaged_weights.h"
#include "trainer/train/checkpoint_writer.h"
#include "trainer/train/training_step.h"

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

/// The step's results must live until it is cut: what nobody holds is no output.
StepNumbers record_training(const Config& config, Engine& engine, TrainingState& state,
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

std::shared_ptr<const CompiledStep> plan_training(const Config& config, Engine& engine,
                                                  TrainingState& state, const LossFunction& loss,
                                                  const BatchTypes& batch) {
  const StepNumbers live = record_training(config, engine, state, loss, batch);
  return engine.compile_pending();
}

Loss record_evaluated(const Config& config, Engine& engine, TrainingState& state,
                      const LossFunction& loss, const BatchTypes& batch) {
  give_phantoms(state, engine);
  const AveragedWeights averaged(state);
  const Batch fields = phantom_batch(engine, batch);
  return record_evaluation(loss, fields, state.compute_dtype,
                           config.eval.metrics.empty() ? LossOutputs::kDrop : LossOutputs::kKeep);
}

std::shared_ptr<const CompiledStep> plan_evaluation(const Config& config, Engine& engine,
                                                    TrainingState& state, const LossFunction& loss,
                                                    const BatchTypes& batch) {
  const Loss live = record_evaluated(config, engine, state, loss, batch);
  return engine.compile_pending();
}

BatchTypes types_of_step(const Config& config, const DatasetPtr& data) {
  const Padding padding =
      step_padding(padding_of(config.data), *data, training_sampler(config, data)).padding;
  return train_batch_types(*data, padding, config.batch.micro_batch_size);
}

bool evaluates(const Config& config, const DataSource& data) {
  return config.eval.interval > 0 && data.validation != nullptr;
}

BatchTypes types_of_evaluation(const Config& config, const Dataset& data) {
  const std::int64_t samples =
      config.eval.batch_size > 0 ? config.eval.batch_size : config.batch.micro_batch_size;
  const Padding padding =
      evaluation_padding(padding_of(config.data), data, samples, config.eval.max_batches);
  return eval_batch_types(data, padding, samples);
}

std::int64_t bytes_of_slots(TrainingState& state) {
  std::int64_t out = 0;
  for (const StateTensor& tensor : state_tensors(state))
    if (tensor.role == StateTensor::Role::kSlot)
      out += static_cast<std::int64_t>(tensor.type.bytes());
  return out;
}

/// The block of a parameter: its name up to the first number, "h.3."; the whole name without one.
std::string block_of(const std::string& name) {
  for (std::size_t at = name.find('.'); at != std::string::npos; at = name.find('.', at + 1)) {
    const std::size_t digit = at + 1;
    if (digit < name.size() && name[digit] >= '0' && name[digit] <= '9')
      return name.substr(0, name.find('.', digit));
  }
  return name;
}

/// Bytes of the block with the most weights, in the type of products.
std::int64_t largest_block(const TrainingState& state) {
  std::map<std::string, std::int64_t> blocks;
  for (const Parameter& parameter : state.module.parameters().all())
    blocks[block_of(parameter.name)] += parameter.shape.elements();
  std::int64_t most = 0;
  for (const auto& [name, elements] : blocks) most = std::max(most, elements);
  return most * static_cast<std::int64_t>(size_of(state.compute_dtype));
}

CompileOptions without_traces(CompileOptions options) {
  constexpr std::size_t kKept = 2;  // programs: those of one config
  options.artifacts = {};
  options.max_programs = kKept;
  options.stop_beyond = false;
  options.spans = nullptr;
  options.host_functions = nullptr;
  options.durations = nullptr;
  return options;
}

/// Whether steps differ in their memory.
bool lengths_vary(const Config& config, const DataSource& data) {
  return config.data.padding != PaddingMode::kMax &&
         std::ranges::any_of(data.train->fields(), &FieldSpec::variable_length);
}

}  // namespace

struct RunPlanner::Rank {
  explicit Rank(const CompileOptions& options, const DeviceOptions& device_options)
      : device_options(device_options),
        device(DeviceOptions{}, spans),
        engine(options, context, device, *communicator, Log::null()) {}

  DeviceOptions device_options;  ///< of the run: no memory is taken
  SteadyClock clock;
  Metrics metrics{clock};
  SpanStream spans{clock, metrics};
  std::unique_ptr<Communicator> communicator = make_single_communicator();
  Device device;
  TraceContext context;
  Engine engine;
};

RunPlanner::RunPlanner(const Registry& registry, DataSource data, CompileOptions options,
                       const DeviceOptions& device)
    : registry_(registry),
      data_(std::move(data)),
      rank_(std::make_unique<Rank>(without_traces(std::move(options)), device)) {}

RunPlanner::~RunPlanner() = default;

PlannedRun RunPlanner::plan(const Config& given) {
  const Config config = with_classes_of(data_, given, registry_);
  Engine& engine = rank_->engine;
  const std::unique_ptr<Model> model = registry_.make_model(config.model, {data_.vocab_size});
  TrainingState state = make_training_state(config, registry_, *model);
  const LossFunction loss = std::cref(*model);
  const BatchTypes fields = types_of_step(config, data_.train);
  PlannedRun out;
  out.device = rank_->device_options;
  out.device_prefetch = config.data.device_prefetch_size;
  out.prefetch = config.data.loader_prefetch_size;
  out.micro_batch_bytes = batch_bytes(fields);
  out.state = state_bytes(state);
  out.slot_bytes = bytes_of_slots(state);
  out.largest_block_bytes = largest_block(state);
  out.staging = CheckpointWriter::staging_bytes(state);
  out.parameters = state.module.parameters().elements();
  out.slots = static_cast<std::int64_t>(state.slots.size());
  out.samples = data_.train->size();
  out.tokens_per_sample = data_.tokens_per_sample;
  out.step = plan_training(config, engine, state, loss, fields);
  if (!evaluates(config, data_)) return out;
  const BatchTypes types = types_of_evaluation(config, *data_.validation);
  out.evaluation_batch_bytes = batch_bytes(types);
  out.evaluation = plan_evaluation(config, engine, state, loss, types);
  return out;
}

std::vector<std::string> RunPlanner::metrics(const Config& given) {
  const Config config = with_classes_of(data_, given, registry_);
  const std::unique_ptr<Model> model = registry_.make_model(config.model, {data_.vocab_size});
  TrainingState state = make_training_state(config, registry_, *model);
  const LossFunction loss = std::cref(*model);
  Engine& engine = rank_->engine;
  std::vector<std::string> out{fmt::format("train/{}", kLoss)};
  {
    const StepNumbers step =
        record_training(config, engine, state, loss, types_of_step(config, data_.train));
    for (const std::string& name : step.metrics) out.push_back("train/" + name);
  }
  engine.context().discard();
  if (config.logging.interval > 1) out.push_back(fmt::format("train/{}", kLossLast));
  if (!evaluates(config, data_)) return out;
  out.push_back("eval/loss");
  {
    const Loss evaluated = record_evaluated(config, engine, state, loss,
                                            types_of_evaluation(config, *data_.validation));
    for (const auto& [name, ratio] : evaluated.metrics) out.push_back("eval/" + name);
  }
  engine.context().discard();
  for (const std::string& name : config.eval.metrics) out.push_back("eval/" + name);
  if (config.eval.generate.max_samples > 0)
    for (const std::string_view name : kCaptionMetrics) out.push_back(fmt::format("eval/{}", name));
  return out;
}

RunPlanner planner_for_unknown_device(const Config& config, const Registry& registry) {
  CompileOptions options;  // a target that is not this machine
  options.unknown_kernels = true;
  DeviceOptions device;
  device.queue_depth = static_cast<int>(config.device.queue_depth);
  return {registry, open_data(config, registry), std::move(options), device};
}

RunPlanner planner_for_this_machine(const Config& config, const Registry& registry, MaxIsa max,
                                    std::vector<std::string> disabled) {
  Settings settings;
  settings.max_isa = max;
  Watch watch;
  RankRuntime runtime(config, settings, make_single_communicator(), watch);
  CompileOptions options = runtime.engine().options();
  DeviceOptions device = runtime.device().options();
  options.activity = device.activity = {};  // of `watch`
  options.disabled_passes = std::move(disabled);
  return {registry, open_data(config, registry), std::move(options), device};
}

PlannedRun plan_config(const Config& config, const Registry& registry, MaxIsa max) {
  return planner_for_this_machine(config, registry, max).plan(config);
}

void check_run_memory(const Config& config, const Registry& registry, RankRuntime& runtime,
                      const DataSource& data, const StepPlan& plan) {
  const bool varies = lengths_vary(config, data);
  if (!varies && !evaluates(config, data)) return;  // the first step takes as much as any other
  const auto limit = static_cast<std::int64_t>(runtime.device().options().memory_bytes);
  const RunMemory need = [&] {
    const ForeignCall call(runtime.activity(), "planning the run's memory");
    CompileOptions options = runtime.engine().options();
    options.dump_folder.clear();
    try {
      RunPlanner planner(registry, data, std::move(options), runtime.device().options());
      return run_memory(planner.plan(config), plan.batch);
    } catch (const Error&) {
      return RunMemory{};  // steps that cannot be recorded: the first one reports the error
    }
  }();
  if (need.total() <= limit) return;
  const bool trains = need.training() <= limit;
  if (!trains && !varies) return;
  raise(ErrorKind::kOutOfMemory,
        "the run does not fit the device: {} take {} ({} bytes) at their peak, and the limit is {} "
        "(device.memory_gb); lower {} or raise the limit, --dry-run shows what a run needs",
        trains ? "its evaluations" : "steps of its longest samples",
        format_bytes(static_cast<double>(need.total())), need.total(),
        format_bytes(static_cast<double>(limit)),
        trains ? "eval.batch_size" : "training.micro_batch_size");
}

}  // namespace lockstep
