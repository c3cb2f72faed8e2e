#include "core/runtime/plan_text.h"

#include <fmt/format.h>

#include <string_view>

namespace lockstep {
namespace {

std::string describe(const BufferSlice& slice, std::size_t whole) {
  const auto numbered = [&](std::string_view area) {
    const bool all = slice.offset == 0 && static_cast<std::size_t>(slice.bytes) == whole;
    return all ? fmt::format("{} {}", area, slice.index)
               : fmt::format("{} {}[{}+{}]", area, slice.index, slice.offset, slice.bytes);
  };
  switch (slice.area) {
    case Area::kInput: return numbered("input");
    case Area::kOutput: return numbered("output");
    case Area::kArena: return fmt::format("arena[{}+{}]", slice.offset, slice.bytes);
    case Area::kConstant: return fmt::format("constants[{}+{}]", slice.offset, slice.bytes);
  }
  __builtin_unreachable();
}

std::string describe(const Plan& plan, const std::vector<BufferSlice>& slices) {
  std::string out;
  for (const BufferSlice& slice : slices) {
    std::size_t whole = 0;
    const auto index = static_cast<std::size_t>(slice.index);
    if (slice.area == Area::kInput) whole = plan.graph[plan.graph.inputs[index]].type.bytes();
    if (slice.area == Area::kOutput) whole = plan.graph[plan.graph.outputs[index]].type.bytes();
    out += (out.empty() ? "" : ", ") + describe(slice, whole);
  }
  return out.empty() ? "nothing" : out;
}

/// "f32[8,64] model.cpp:41 (h.0)".
std::string describe(const Node& node) {
  const std::string place = node.origin.to_string();
  return node.type.to_string() + (place.empty() ? "" : " " + place);
}

std::string describe(const Plan& plan, std::size_t number) {
  const Command& command = plan.commands[number];
  const Node& node = plan.graph[command.value];
  std::string out =
      fmt::format("{} {}{} %{} {} {}: {} -> {}", number,
                  command.with_previous ? "+ "
                  : command.chained     ? "> "
                                        : "",
                  name_of(command.work), command.value, name_of(node.op), describe(node),
                  describe(plan, command.operands), describe(plan, command.results));
  if (command.scratch.bytes > 0) out += ", scratch " + describe(plan, {command.scratch});
  out += fmt::format(", {:.0f} flops, {:.0f} bytes", command.flops, command.bytes);
  for (std::size_t i = 0; i < command.finishes.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? ", finishes output " : " ", command.finishes[i]);
  return out + "\n";
}

}  // namespace

std::string print(const Plan& plan) {
  const Graph& graph = plan.graph;
  std::string out = fmt::format("arena {} bytes, constants {} bytes, peak {} bytes\n",
                                plan.arena_bytes, plan.constant_bytes, plan.peak_bytes);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Node& node = graph[graph.inputs[i]];
    out += fmt::format(
        "input {} {}\n", i,
        node.name.empty() ? describe(node) : node.type.to_string() + " " + std::string(node.name));
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    out += fmt::format("output {} {}", i, describe(graph[graph.outputs[i]]));
    if (plan.donated_inputs[i] >= 0)
      out += fmt::format(" in the memory of input {}", plan.donated_inputs[i]);
    out += "\n";
  }
  for (const std::int32_t output : plan.ready_outputs)
    out += fmt::format("output {} is complete from the start\n", output);
  std::size_t constant = 0;
  for (ValueId id = 0; id < graph.size(); ++id)
    if (graph[id].op == Op::kConstant)
      out += fmt::format("constant %{} {} in {}\n", id, describe(graph[id]),
                         describe(plan.constants[constant++], 0));
  for (std::size_t c = 0; c < plan.commands.size(); ++c) out += describe(plan, c);
  return out;
}

}  // namespace lockstep
