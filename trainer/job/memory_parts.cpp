#include "trainer/job/memory_parts.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "core/engine/step_memory.h"
#include "core/observe/live_values.h"
#include "core/runtime/allocator.h"
#include "core/runtime/compiled_step.h"

namespace lockstep {
namespace {

std::int64_t block_of(const Node& node) {
  return static_cast<std::int64_t>(Allocator::block_bytes(node.type.bytes()));
}

struct InputBytes {
  std::int64_t parameters = 0;
  std::int64_t slots = 0;
  std::int64_t copies = 0;
  std::int64_t other = 0;
  std::int64_t fields = 0;   ///< of a micro-batch, "batch.*"
  std::int64_t indices = 0;  ///< of a micro-batch, the rest
};

/// The number that counts a state input.
std::int64_t& of_state(InputBytes& bytes, std::string_view name,
                       const std::set<std::string_view>& parameters) {
  if (parameters.contains(name)) return bytes.copies;
  const std::size_t dot = name.find('.');
  const bool is_slot = dot != std::string_view::npos && parameters.contains(name.substr(dot + 1));
  return is_slot ? bytes.slots : bytes.other;
}

InputBytes input_bytes(const Graph& step) {
  std::set<std::string_view> parameters;
  for (const ValueId id : step.inputs)
    if (step[id].input_kind == InputKind::kParameter) parameters.insert(step[id].name);
  InputBytes out;
  for (const ValueId id : step.inputs) {
    const Node& input = step[id];
    switch (input.input_kind) {
      case InputKind::kParameter: out.parameters += block_of(input); break;
      case InputKind::kState: of_state(out, input.name, parameters) += block_of(input); break;
      case InputKind::kBatch:
        (input.name.starts_with("batch.") ? out.fields : out.indices) += block_of(input);
        break;
      case InputKind::kScalar: break;  // step_memory() counts them
    }
  }
  return out;
}

}  // namespace

std::vector<ProgramRecord::MemoryPart> memory_parts(const CompiledStep& step,
                                                    const DeviceUse& use) {
  const InputBytes inputs = input_bytes(step.step);
  const StepMemory memory = step_memory(step, use.micro_batches);
  const Plan& larger =
      step.gradient.arena_bytes > step.update.arena_bytes ? step.gradient : step.update;
  const std::int64_t scratch = live_memory(larger).scratch_in_arena;
  const bool has_room = use.batch_room > 0;
  const std::int64_t fields = has_room ? use.batch_room : use.micro_batches * inputs.fields;
  // A step of a trainer has them, whether the model reads them or not.
  const auto index = static_cast<std::int64_t>(Allocator::block_bytes(sizeof(std::int64_t)));
  const std::int64_t indices = has_room ? std::max(inputs.indices, index) : inputs.indices;
  std::vector<ProgramRecord::MemoryPart> out{{"parameters", inputs.parameters},
                                             {"optimizer state", inputs.slots},
                                             {"parameter copies", inputs.copies},
                                             {"other state", inputs.other},
                                             {"batches", fields + use.micro_batches * indices},
                                             {"scalars", memory.scalars},
                                             {"activations", memory.arena - scratch},
                                             {"scratch", scratch},
                                             {"gradients", memory.gradient_sums},
                                             {"new values", memory.updates},
                                             {"results", use.steps_in_flight * memory.results}};
  std::int64_t known = 0;
  for (const ProgramRecord::MemoryPart& part : out) known += part.bytes;
  out.push_back({"other", std::max<std::int64_t>(use.peak_bytes - known, 0)});
  std::erase_if(out, [](const ProgramRecord::MemoryPart& part) { return part.bytes == 0; });
  return out;
}

}  // namespace lockstep
