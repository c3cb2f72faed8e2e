#include "core/engine/execution.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/base/error.h"
#include "core/engine/device_value.h"
#include "core/engine/state_watch.h"
#include "core/engine/step_memory.h"
#include "core/runtime/communicator.h"
#include "core/runtime/device.h"
#include "core/runtime/executor.h"
#include "core/runtime/loaded_step.h"
#include "core/runtime/reduction.h"

namespace lockstep {
namespace {

class Run {
 public:
  Run(StepExecution& execution, Device& device, Communicator& communicator)
      : execution_(execution),
        program_(*execution.program->compiled),
        device_(device),
        communicator_(communicator) {}

  void reserve() {
    count_micro_batches();
    begin_virtual_time();
    reserve_results();
    reserve_scalars();
    const auto arena = std::max(program_.gradient.arena_bytes, program_.update.arena_bytes);
    arena_ = allocate(static_cast<std::size_t>(arena), "activations and temporaries");
    if (program_.has_gradient_program()) {
      reduction_.emplace(program_.reduction,
                         Reduction::Context{device_.allocator(), device_.pool(), communicator_,
                                            device_.spans(), execution_.step, execution_.overlap,
                                            to_compare(), execution_.correlation, virtual_time()},
                         micro_batches_);
      reserve_gradient_outputs();
    }
    reserve_update_outputs();
  }

  void run() {
    if (reduction_) {
      activity().begin_on_device(Phase::kForward, execution_.step);
      for (std::int64_t micro_batch = 0; micro_batch < micro_batches_; ++micro_batch)
        run_gradient_program(*reduction_, micro_batch);
      activity().begin_on_device(Phase::kReduce, execution_.step);
      reduction_->wait();
    }
    activity().begin_on_device(Phase::kUpdate, execution_.step);
    run_update();
    activity().begin_on_device(Phase::kIdle, execution_.step);
  }

  std::int64_t micro_batches() const { return micro_batches_; }
  Span span_of(SpanKind kind) const {
    return {.kind = kind, .step = execution_.step, .correlation = execution_.correlation};
  }

  /// The largest values of the larger program at its peak, a line each.
  std::string_view largest_values() const {
    const bool gradient = program_.gradient.peak_bytes >= program_.update.peak_bytes;
    std::string_view out =
        gradient ? program_.gradient.largest_values : program_.update.largest_values;
    if (!out.empty()) out.remove_suffix(1);  // the last line's end
    return out;
  }

  /// Called before publish(): the host may continue as soon as it gets the results, and the memory
  /// in use must not depend on when it does.
  void release() {
    scalars_.reset();
    arena_.reset();
    reduction_.reset();
    copies_.clear();
    execution_.inputs.clear();
  }

  /// Called before publish(), which wakes the host: without its own core, the host takes this one.
  void check_state() {
    if (execution_.state_watch == nullptr) return;
    const ScopedSpan span(device_.spans(), span_of(SpanKind::kStateCheck));
    execution_.state_watch->look(execution_.program->compiled, execution_.outputs,
                                 execution_.step + 1, device_.pool());
  }

  void hand_over() {
    VirtualClock* clock = device_.virtual_clock();
    const std::int64_t exists_ns = clock == nullptr ? 0 : clock->end(virtual_);
    for (std::size_t i = 0; i < execution_.outputs.size(); ++i) {
      execution_.outputs[i]->buffers = std::move(results_[i]);
      execution_.outputs[i]->exists_ns = exists_ns;
    }
  }

  void publish() {
    for (const DeviceTensorPtr& output : execution_.outputs) output->ready->set();
  }

 private:
  BufferPtr allocate(std::size_t bytes, const std::string& label) {
    return device_.allocator().allocate(bytes, label);
  }

  BufferPtr allocate_output(std::size_t step_output) {
    const DeviceTensor& out = *execution_.outputs[step_output];
    AllocationLabel label = fmt::format("{} {}", out.type.to_string(), out.label.to_string());
    if (execution_.results && !is_update_[step_output])
      return execution_.results->allocate(out.type.bytes(), std::move(label));
    return allocate(out.type.bytes(), label);
  }

  void count_micro_batches() {
    const Graph& step = program_.step;
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const Node& node = step[step.inputs[i]];
      if (node.input_kind != InputKind::kBatch) continue;
      const DeviceTensor* tensor = execution_.inputs[i].tensor.get();
      const auto count = tensor == nullptr ? 1 : static_cast<std::int64_t>(tensor->buffers.size());
      LS_USER_CHECK(micro_batches_ == 0 || micro_batches_ == count,
                    "batch input '{}' has {} micro-batches, others have "
                    "{}",
                    node.name, count, micro_batches_);
      micro_batches_ = count;
    }
    micro_batches_ = std::max<std::int64_t>(micro_batches_, 1);
  }

  void reserve_results() {
    results_.resize(execution_.outputs.size());
    is_update_ = updates_of(program_);
    if (!execution_.results) return;
    const std::int64_t steps = device_.options().steps_in_flight();
    execution_.results->grow_to(
        static_cast<std::size_t>(steps * result_bytes(program_, micro_batches_)));
  }

  void begin_virtual_time() {
    VirtualClock* clock = device_.virtual_clock();
    if (clock == nullptr) return;
    virtual_.durations = &execution_.program->durations;
    virtual_.micro_batches = micro_batches_;
    virtual_.name = name_of(execution_.reason);
    if (execution_.reason == SyncReason::kStepEnd) virtual_.step = execution_.step;
    clock->begin(execution_.host, virtual_);
  }
  VirtualExecution* virtual_time() {
    return device_.virtual_clock() == nullptr ? nullptr : &virtual_;
  }

  /// Scalars are passed with the execution: they share one small device buffer.
  void reserve_scalars() {
    std::size_t count = 0;
    for (const StepInput& input : execution_.inputs)
      if (!input.tensor) ++count;
    scalars_ = allocate(count * kScalarSlotBytes, "scalars");
    std::byte* at = scalars_->data();
    for (const StepInput& input : execution_.inputs) {
      if (input.tensor) {
        scalar_memory_.push_back(nullptr);
        continue;
      }
      const HostTensor host = input.scalar->to_host();
      std::memcpy(at, host.bytes().data(), host.bytes().size());
      scalar_memory_.push_back(at);
      at += kScalarSlotBytes;
    }
  }

  std::byte* input_memory(std::int32_t step_input, std::int64_t micro_batch) const {
    const auto i = static_cast<std::size_t>(step_input);
    if (scalar_memory_[i] != nullptr) return scalar_memory_[i];
    const auto& buffers = execution_.inputs[i].tensor->buffers;
    return buffers[buffers.size() == 1 ? 0 : static_cast<std::size_t>(micro_batch)]->data();
  }

  void reserve_gradient_outputs() {
    for (const std::int32_t output : program_.split.gradient_outputs)
      for (std::int64_t micro_batch = 0; micro_batch < micro_batches_; ++micro_batch)
        results_[static_cast<std::size_t>(output)].push_back(
            allocate_output(static_cast<std::size_t>(output)));
  }

  void reserve_update_outputs() {
    const SplitStep& split = program_.split;
    donated_.assign(program_.update.graph.inputs.size(), nullptr);
    for (std::size_t i = 0; i < split.update_outputs.size(); ++i) {
      const auto output = static_cast<std::size_t>(split.update_outputs[i]);
      const std::int32_t input = program_.update.donated_inputs[i];
      if (input < 0) {
        results_[output].push_back(allocate_output(output));
        continue;
      }
      const UpdateInput& from = split.update_inputs[static_cast<std::size_t>(input)];
      TensorLease& old = execution_.inputs[static_cast<std::size_t>(from.step_input)].tensor;
      BufferPtr memory;
      if (old && old.take_memory()) {
        memory = old->buffers[0];
      } else {
        // A scalar, or the old value may still be read (a snapshot, another handle).
        memory = allocate_output(output);
        copies_.push_back({memory->data(), input_memory(from.step_input, 0), memory->bytes()});
        device_.spans().metrics().count("DonationCopy");
        if (old && execution_.on_copy) execution_.on_copy(*old);
      }
      donated_[static_cast<std::size_t>(input)] = memory->data();
      results_[output].push_back(std::move(memory));
    }
  }

  CarriedDigestPtr to_compare() const {
    const StateWatch* state = execution_.state_watch.get();
    return join(execution_.carried, state == nullptr ? nullptr : state->to_compare());
  }

  Activity activity() const { return device_.options().activity; }

  PlanContext context(bool is_update, std::int64_t micro_batch) const {
    return {.pool = device_.pool(),
            .communicator = communicator_,
            .step = execution_.step,
            .signature = program_.reduction.signature,
            .activity = activity(),
            .spans = &device_.spans(),
            .call = {.program = execution_.program->id,
                     .is_update = is_update,
                     .micro_batch = micro_batch,
                     .correlation = execution_.correlation}};
  }

  void run_gradient_program(Reduction& reduction, std::int64_t micro_batch) {
    const SplitStep& split = program_.split;
    PlanMemory memory;
    memory.arena = arena_->data();
    for (const std::int32_t input : split.gradient_inputs)
      memory.inputs.push_back(input_memory(input, micro_batch));
    const auto reduced = static_cast<std::int32_t>(program_.reduction.offsets.size());
    for (std::int32_t value = 0; value < reduced; ++value)
      memory.outputs.push_back(reduction.slot(value));
    for (const std::int32_t output : split.gradient_outputs)
      memory.outputs.push_back(
          results_[static_cast<std::size_t>(output)][static_cast<std::size_t>(micro_batch)]
              ->data());
    PlanCallbacks callbacks;
    callbacks.before_outputs = [&] { reduction.begin_writing(); };
    callbacks.finished = [&](std::int32_t output) {
      if (output < reduced) reduction.finish_value(output);
    };
    run_plan(execution_.program->gradient, memory, context(false, micro_batch), callbacks);
    reduction.finish_micro_batch();
  }

  void copy_held_inputs() {
    if (copies_.empty()) return;
    const ScopedSpan span(device_.spans(), span_of(SpanKind::kDonationCopies));
    for (const Copy& copy : copies_) std::memcpy(copy.to, copy.from, copy.bytes);
  }

  void run_update() {
    const SplitStep& split = program_.split;
    execution_.updating = true;
    copy_held_inputs();
    PlanMemory memory;
    memory.arena = arena_->data();
    for (std::size_t i = 0; i < split.update_inputs.size(); ++i) {
      const UpdateInput& input = split.update_inputs[i];
      if (donated_[i] != nullptr) {
        memory.inputs.push_back(donated_[i]);
      } else if (input.reduced >= 0) {
        // A plan writes to donated inputs only.
        // NOLINTNEXTLINE(bugprone-unchecked-optional-access): what is reduced has a reduction
        memory.inputs.push_back(const_cast<std::byte*>(reduction_->result(input.reduced)));
      } else {
        memory.inputs.push_back(input_memory(input.step_input, 0));
      }
    }
    for (const std::int32_t output : split.update_outputs)
      memory.outputs.push_back(results_[static_cast<std::size_t>(output)][0]->data());
    run_plan(execution_.program->update, memory, context(true, 0));
  }

  StepExecution& execution_;
  const CompiledStep& program_;
  Device& device_;
  Communicator& communicator_;
  std::int64_t micro_batches_ = 0;
  VirtualExecution virtual_;
  BufferPtr scalars_;
  std::vector<std::byte*> scalar_memory_;  ///< per step input; null for device tensors
  BufferPtr arena_;
  std::optional<Reduction> reduction_;
  std::vector<bool> is_update_;                  ///< per step output
  std::vector<std::vector<BufferPtr>> results_;  ///< per step output
  std::vector<std::byte*> donated_;              ///< per update input: memory written in place
  struct Copy {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
  };
  std::vector<Copy> copies_;
};

}  // namespace

std::vector<StepInput> step_inputs(std::span<const TensorValuePtr> values) {
  std::vector<StepInput> out;
  out.reserve(values.size());
  for (const TensorValuePtr& value : values) {
    const auto* device_value = dynamic_cast<const DeviceValue*>(value.get());
    if (device_value == nullptr) {
      out.push_back({{}, value});
    } else {
      out.push_back({device_value->tensor(), nullptr});
    }
  }
  return out;
}

void wait_for_inputs(const StepExecution& execution) {
  for (const StepInput& input : execution.inputs)
    if (input.tensor) input.tensor->ready->wait();
}

std::int64_t run_step(StepExecution& execution, Device& device, Communicator& communicator) {
  SpanStream& spans = device.spans();
  Run run(execution, device, communicator);
  const Span dispatch = run.span_of(SpanKind::kDispatch);
  try {
    const ScopedSpan span(spans, dispatch);
    run.reserve();
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::kOutOfMemory) throw;
    // All activations are one block of the allocator: list its values.
    throw Error(e.kind(), fmt::format("{}\nthe largest values that the step computes are:\n{}",
                                      e.what(), run.largest_values()));
  }
  if (spans.wants_levels())
    spans.level(LevelKind::kDeviceMemory,
                static_cast<std::int64_t>(device.allocator().used_bytes()));
  run.run();
  {
    const ScopedSpan span(spans, dispatch);
    run.release();
    run.hand_over();
  }
  run.check_state();
  const ScopedSpan span(spans, dispatch);
  run.publish();
  return run.micro_batches();
}

void fail_step(StepExecution& execution, const std::exception_ptr& error) {
  for (const Update& update : execution.updates) {
    if (execution.updating) break;
    const TensorLease& old = execution.inputs[static_cast<std::size_t>(update.input)].tensor;
    if (!old) continue;
    old->ready->wait_quietly();
    if (old->ready->error()) continue;
    DeviceTensor& out = *execution.outputs[static_cast<std::size_t>(update.output)];
    out.stand_for(old);
    out.ready->set();
  }
  for (const DeviceTensorPtr& output : execution.outputs) output->ready->fail(error);
}

}  // namespace lockstep
