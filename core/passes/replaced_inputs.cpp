#include "core/passes/replaced_inputs.h"

#include <algorithm>

#include "core/ir/group.h"

namespace lockstep {
ReplacedInputs::ReplacedInputs(const Graph& graph, const BufferAliases& aliases)
    : graph_(graph),
      aliases_(aliases),
      last_reader_(graph.nodes.size(), kNoValue),
      replaced_(graph.nodes.size()) {
  for (const Update& update : graph.updates)
    replaced_[index_of(
                  group_of(graph, aliases.owner[index_of(graph.outputs[index_of(update.output)])]))]
        .push_back(graph.inputs[index_of(update.input)]);
}

void ReplacedInputs::run(ValueId command) {
  for (const ValueId operand : graph_[command].operands)
    last_reader_[index_of(aliases_.owner[index_of(operand)])] = command;
}

bool ReplacedInputs::are_read_since(ValueId first, ValueId command) const {
  return std::ranges::any_of(replaced_[index_of(command)],
                             [&](ValueId input) { return last_reader_[index_of(input)] >= first; });
}

}  // namespace lockstep
