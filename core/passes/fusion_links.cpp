#include "core/passes/fusion_links.h"

#include <algorithm>
#include <utility>

namespace lockstep {
FusionLinks::FusionLinks(const Graph& graph, std::vector<bool> cloned)
    : graph_(graph),
      cloned_(std::move(cloned)),
      materialized_(graph.nodes.size(), false),
      output_(graph.nodes.size(), false),
      reads_(graph.nodes.size()),
      readers_(graph.nodes.size()) {
  for (const Node& node : graph.nodes) kinds_.push_back(fusion_kind(graph, node));
  for (const ValueId output : graph.outputs) output_[index_of(output)] = true;
  find_materialized();
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (!is_unit(id)) continue;
    for (std::size_t i = 0; i < graph[id].operands.size(); ++i) collect(id, graph[id], i);
  }
}

void FusionLinks::find_materialized() {
  for (ValueId id = 0; id < graph_.size(); ++id) {
    const Node& node = graph_[id];
    if (output_[index_of(id)]) materialized_[index_of(id)] = true;
    for (std::size_t i = 0; i < node.operands.size(); ++i)
      if (!is_fusible(id) || reads_other_shape(graph_, node, i))
        materialized_[index_of(node.operands[i])] = true;
  }
}

/// Operand `i` of `through`, which is the reader or a clone that it computes.
void FusionLinks::collect(ValueId reader, const Node& through, std::size_t i) {
  const ValueId source = through.operands[i];
  const Node& node = graph_[source];
  if (!is_fusible(reader)) {
    add(reader, {source, Link::kMemory});
    return;
  }
  if (is_scalar_constant(node)) return;
  const FusionKind kind = this->kind(source);
  const bool joins = kind == FusionKind::kElementwise || kind == FusionKind::kRowReduction;
  if (reads_other_shape(graph_, through, i)) {
    const bool row = joins && through.op == Op::kBroadcast && is_row_broadcast(graph_, through);
    add(reader, {source, row ? Link::kRow : Link::kMemory});
  } else if (cloned_[index_of(source)]) {
    for (std::size_t j = 0; j < node.operands.size(); ++j) collect(reader, node, j);
  } else {
    add(reader, {source, joins ? Link::kDirect : Link::kMemory});
  }
}

void FusionLinks::add(ValueId reader, FusionRead read) {
  std::vector<FusionRead>& reads = reads_[index_of(reader)];
  if (std::ranges::find(reads, read) != reads.end()) return;
  reads.push_back(read);
  std::vector<ValueId>& readers = readers_[index_of(read.source)];
  if (std::ranges::find(readers, reader) == readers.end()) readers.push_back(reader);
}

}  // namespace lockstep
