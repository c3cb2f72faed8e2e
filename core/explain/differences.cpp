#include "core/explain/differences.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lockstep {

std::string describe(const GraphDescriptor& graph, ValueId id) {
  if (graph.is_input(id)) {
    const std::string& name = graph.input(id).name;
    if (!name.empty()) return name;
    const auto place = std::ranges::find(graph.inputs(), id) - graph.inputs().begin();
    return fmt::format("input {} ({}, made before)", place, graph.type(id));
  }
  std::string out = fmt::format("{} {}", name_of(graph[id].op), graph.type(id));
  if (const std::string place = graph.place(id); !place.empty()) out += " " + place;
  return out;
}

ValueId first_user(const GraphDescriptor& graph, ValueId value) {
  for (ValueId id = value + 1; id < graph.size(); ++id)
    if (std::ranges::find(graph.operands(id), value) != graph.operands(id).end()) return id;
  return kNoValue;
}

std::vector<Difference> find_differences(const Comparison& graphs) {
  std::vector<Difference> out = compare_leaves(graphs);
  std::vector<Difference> structure = compare_structure(graphs, out);
  std::move(structure.begin(), structure.end(), std::back_inserter(out));
  std::ranges::stable_sort(out, {}, [](const Difference& difference) {
    return std::pair(difference.derived, difference.cause);
  });
  if (out.empty())
    out.push_back({.cause = Cause::kInputs, .subject = "the order of the inputs", .to = "changed"});
  // What follows from nothing is a cause, whatever it looks like.
  out.front().derived = false;
  return out;
}

}  // namespace lockstep
