#include "core/observe/donation.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/runtime/compiled_step.h"

namespace lockstep {
namespace {

bool touches(const std::vector<BufferSlice>& slices, Area area, std::int32_t index) {
  return std::ranges::any_of(
      slices, [&](const BufferSlice& slice) { return slice.area == area && slice.index == index; });
}

std::string place_of(const Plan& plan, const Command& command) {
  const Node& node = plan.graph[command.value];
  return fmt::format("{} {}", name_of(node.op), node.origin.to_string());
}

/// Why the planner gave output `output` of the plan its own memory instead of that of `input`.
std::string why_copied(const Plan& plan, std::int32_t output, std::int32_t input) {
  const auto& commands = plan.commands;
  const auto writes = [&](const Command& command) {
    return touches(command.results, Area::kOutput, output);
  };
  const auto last = std::find_if(commands.rbegin(), commands.rend(), writes);
  if (last == commands.rend()) return "nothing computes the next value";
  if (last->kind == CommandKind::kCopy)
    return fmt::format("the next value is another value, copied ({})", place_of(plan, *last));
  const auto writer = static_cast<std::size_t>(commands.rend() - last) - 1;
  std::size_t bundle = writer;
  while (bundle > 0 && commands[bundle].with_previous) --bundle;
  for (std::size_t c = bundle; c < commands.size(); ++c)
    if (c != writer && touches(commands[c].operands, Area::kInput, input))
      return fmt::format("{} reads it when the next value is written", place_of(plan, commands[c]));
  return fmt::format("{} cannot overwrite its operand", place_of(plan, commands[writer]));
}

}  // namespace

std::vector<InputDonation> donations(const CompiledStep& step) {
  const Graph& graph = step.step;
  const SplitStep& split = step.split;
  std::vector<InputDonation> out(graph.inputs.size());
  for (std::size_t i = 0; i < out.size(); ++i)
    if (graph[graph.inputs[i]].input_kind == InputKind::kScalar) out[i].kind = Donation::kOnHost;
  for (const Update& update : graph.updates) {
    InputDonation& donation = out[static_cast<std::size_t>(update.input)];
    if (donation.kind == Donation::kOnHost) continue;
    const auto output = std::ranges::find(split.update_outputs, update.output);
    const auto input =
        std::ranges::find(split.update_inputs, update.input, &UpdateInput::step_input);
    donation.kind = Donation::kCopied;
    if (output == split.update_outputs.end() || input == split.update_inputs.end()) {
      donation.why = "the next value is made without the old one";
      continue;
    }
    const auto at = static_cast<std::int32_t>(output - split.update_outputs.begin());
    const auto from = static_cast<std::int32_t>(input - split.update_inputs.begin());
    if (step.update.donated_inputs[static_cast<std::size_t>(at)] == from) {
      donation.kind = Donation::kDonated;
    } else {
      donation.why = why_copied(step.update, at, from);
    }
  }
  return out;
}

}  // namespace lockstep
