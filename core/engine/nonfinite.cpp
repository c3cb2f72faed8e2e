#include "core/engine/nonfinite.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/engine/compile.h"
#include "core/engine/device_value.h"
#include "core/kernels/kernel_cache.h"
#include "core/passes/split_step.h"
#include "core/runtime/communicator.h"
#include "core/runtime/device.h"
#include "core/runtime/executor.h"

namespace lockstep {
namespace {

/// Whether no element's exponent is all ones. A loop without exits, so that it is vectorized.
template <class Bits, Bits kExponent>
bool all_finite_bits(const std::byte* data, std::int64_t elements) {
  const auto* bits = reinterpret_cast<const Bits*>(data);
  bool found = false;
  for (std::int64_t i = 0; i < elements; ++i) found |= (bits[i] & kExponent) == kExponent;
  return !found;
}

std::string describe(const Node& node) {
  const std::string_view name = node.op == Op::kInput ? node.name : node.origin.scope;
  std::string out = fmt::format("%{} {} {}", name, name_of(node.op), node.type.to_string());
  if (!node.origin.file.empty()) out += fmt::format(" ({}:{})", node.origin.file, node.origin.line);
  return out;
}

/// The values of a step's inputs in memory that a program can read.
class InputMemory {
 public:
  explicit InputMemory(std::span<const TensorValuePtr> inputs) : inputs_(inputs) {
    for (const TensorValuePtr& input : inputs) {
      auto* value = dynamic_cast<DeviceValue*>(input.get());
      scalars_.push_back(value == nullptr ? input->to_host() : HostTensor());
      if (value == nullptr) continue;
      value->tensor()->ready->wait();
      micro_batches_ =
          std::max(micro_batches_, static_cast<std::int64_t>(value->tensor()->buffers.size()));
    }
  }

  std::int64_t micro_batches() const { return micro_batches_; }
  std::byte* at(std::int32_t input, std::int64_t micro_batch) const {
    const auto i = static_cast<std::size_t>(input);
    if (!scalars_[i].empty()) return scalars_[i].bytes().data();
    const auto& buffers = dynamic_cast<DeviceValue&>(*inputs_[i]).tensor()->buffers;
    return buffers[buffers.size() == 1 ? 0 : static_cast<std::size_t>(micro_batch)]->data();
  }

 private:
  std::span<const TensorValuePtr> inputs_;
  std::vector<HostTensor> scalars_;  ///< empty for device tensors
  std::int64_t micro_batches_ = 1;
};

/// The first value that is not finite; ends the run of the plan.
struct Found {
  std::string text;
};

/// The first value of one micro-batch that is not finite; empty for none.
std::string check_micro_batch(const LoadedPlan& loaded, const SplitStep& split,
                              const InputMemory& inputs, std::int64_t micro_batch,
                              const PlanContext& context) {
  const Plan& plan = *loaded.plan;
  const Graph& graph = plan.graph;
  const BufferPtr arena = allocate_host(static_cast<std::size_t>(plan.arena_bytes));
  std::vector<BufferPtr> outputs;
  PlanMemory memory;
  memory.arena = arena->data();
  for (std::size_t i = 0; i < split.gradient_inputs.size(); ++i) {
    memory.inputs.push_back(inputs.at(split.gradient_inputs[i], micro_batch));
    const Node& node = graph[graph.inputs[i]];
    if (!all_finite(node.type.dtype, memory.inputs.back(), node.type.shape.elements()))
      return describe(node);
  }
  for (const ValueId output : graph.outputs) {
    outputs.push_back(allocate_host(graph[output].type.bytes()));
    memory.outputs.push_back(outputs.back()->data());
  }
  PlanCallbacks callbacks;
  callbacks.ran = [&](std::size_t command, std::span<const std::byte* const> results) {
    const ValueId value = plan.commands[command].value;
    for (std::size_t k = 0; k < results.size(); ++k) {
      const Node& node = graph[value + static_cast<ValueId>(k)];
      if (!all_finite(node.type.dtype, results[k], node.type.shape.elements()))
        throw Found{describe(graph[value])};
    }
  };
  try {
    run_plan(loaded, memory, context, callbacks);
  } catch (const Found& found) {
    return found.text;
  }
  return "";
}

}  // namespace

bool all_finite(DType dtype, const std::byte* data, std::int64_t elements) {
  switch (dtype) {
    case DType::kF32: return all_finite_bits<std::uint32_t, 0x7f800000U>(data, elements);
    case DType::kF64: return all_finite_bits<std::uint64_t, 0x7ff0000000000000U>(data, elements);
    case DType::kBF16: return all_finite_bits<std::uint16_t, 0x7f80U>(data, elements);
    case DType::kF16: return all_finite_bits<std::uint16_t, 0x7c00U>(data, elements);
    case DType::kI32:
    case DType::kI64:
    case DType::kU8:
    case DType::kBool: return true;
  }
  __builtin_unreachable();
}

std::optional<NonFiniteValue> find_nonfinite(const Graph& step,
                                             std::span<const TensorValuePtr> inputs,
                                             const CompileOptions& options, Device& device,
                                             Communicator& communicator, Log& log) {
  const SplitStep split = split_step(step);
  if (split.gradient.outputs.empty()) return std::nullopt;
  CompileOptions plain = options;
  plain.disabled_passes = {"fuse"};
  KernelCache kernels(options.target, log);
  const LoadedPlan plan = compile_and_load(split.gradient, plain, kernels, log);
  const InputMemory memory(inputs);
  std::optional<NonFiniteValue> out;
  std::exception_ptr error;
  device.enqueue([&] {
    try {
      const PlanContext context{.pool = device.pool(),
                                .communicator = communicator,
                                .signature = {},
                                .activity = device.options().activity,
                                .spans = &device.spans()};
      for (std::int64_t micro_batch = 0; micro_batch < memory.micro_batches() && !out;
           ++micro_batch) {
        std::string text = check_micro_batch(plan, split, memory, micro_batch, context);
        if (!text.empty()) out = {micro_batch, std::move(text)};
      }
    } catch (...) {
      error = std::current_exception();
    }
  });
  device.synchronize();
  if (error) std::rethrow_exception(error);
  return out;
}

}  // namespace lockstep
