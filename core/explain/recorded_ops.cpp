#include "core/explain/recorded_ops.h"

#include "core/explain/op_groups.h"

namespace lockstep {

RecordedOps::RecordedOps(const Comparison& graphs) : graphs_(graphs) {
  const auto count = [](const GraphDescriptor& graph, Counts& counts) {
    for (ValueId id = 0; id < graph.size(); ++id)
      if (graph[id].op != Op::kInput) ++counts[graph.labels()[index_of(id)]];
    for (const std::uint64_t label : graph.dropped_labels()) ++counts[label];
  };
  count(graphs.old, old_);
  count(graphs.now, now_);
}

std::int64_t RecordedOps::count_in_other(const GraphDescriptor& graph, ValueId id) const {
  const Counts& there = graphs_.is_now(graph) ? old_ : now_;
  const auto found = there.find(graph.labels()[index_of(id)]);
  return found == there.end() ? 0 : found->second;
}

bool RecordedOps::is_in_other(const GraphDescriptor& graph, ValueId id) const {
  return count_in_other(graph, id) > 0;
}

bool RecordedOps::is_dropped_in_other(const GraphDescriptor& graph, ValueId id) const {
  if (is_leaf(graph, id) || graphs_.to_other(graph)[index_of(id)] != kNoValue) return false;
  const Counts& here = graphs_.is_now(graph) ? now_ : old_;
  return count_in_other(graph, id) >= here.at(graph.labels()[index_of(id)]);
}

}  // namespace lockstep
