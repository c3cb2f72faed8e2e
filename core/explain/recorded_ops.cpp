#include "core/explain/recorded_ops.h"

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

bool RecordedOps::in_both(const GraphDescriptor& graph, ValueId id) const {
  const std::uint64_t label = graph.labels()[index_of(id)];
  const Counts& here = graphs_.is_now(graph) ? now_ : old_;
  const Counts& there = graphs_.is_now(graph) ? old_ : now_;
  const auto found = there.find(label);
  return found != there.end() && found->second >= here.at(label);
}

}  // namespace lockstep
