#include "core/passes/replaced_inputs.h"

#include <algorithm>

#include "core/ir/group.h"

namespace lockstep {
namespace {

std::size_t index(ValueId id) {
  return static_cast<std::size_t>(id);
}

}  // namespace

ReplacedInputs::ReplacedInputs(const Graph& graph, const BufferAliases& aliases)
    : graph_(graph),
      aliases_(aliases),
      last_reader_(graph.nodes.size(), kNoValue),
      replaced_(graph.nodes.size()) {
  for (const Update& update : graph.updates)
    replaced_[index(group_of(graph, aliases.owner[index(graph.outputs[index(update.output)])]))]
        .push_back(graph.inputs[index(update.input)]);
}

void ReplacedInputs::run(ValueId command) {
  for (const ValueId operand : graph_[command].operands)
    last_reader_[index(aliases_.owner[index(operand)])] = command;
}

bool ReplacedInputs::are_read_since(ValueId first, ValueId command) const {
  return std::ranges::any_of(replaced_[index(command)],
                             [&](ValueId input) { return last_reader_[index(input)] >= first; });
}

}  // namespace lockstep
