#include "core/passes/dce.h"

#include <algorithm>
#include <vector>

namespace lockstep {

Graph drop_dead(Graph graph) {
  std::vector<bool> keep = find_reachable(graph);
  for (const ValueId input : graph.inputs) keep[static_cast<std::size_t>(input)] = true;
  if (std::find(keep.begin(), keep.end(), false) == keep.end()) return graph;
  return keep_only(std::move(graph), keep);
}

Graph dce(Graph graph, const Target& target) {
  (void)target;
  return drop_dead(std::move(graph));
}

}  // namespace lockstep
