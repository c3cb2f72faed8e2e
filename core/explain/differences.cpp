#include "core/explain/differences.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "core/explain/mode_change.h"
#include "core/explain/parameter_updates.h"
#include "core/explain/recorded_ops.h"
#include "core/explain/remedies.h"

namespace lockstep {

namespace {

/// The name that users know it by.
std::string_view function_of(const GraphDescriptor& graph, ValueId id) {
  if (graph[id].op == Op::kOptimizationBarrier && graph[id].gradient) return "remat";
  return is_stop_gradient(graph, id) ? "stop_gradient" : name_of(graph[id].op);
}

std::string describe(const GraphDescriptor& graph, ValueId id, const std::string& type) {
  if (graph.is_input(id)) {
    const std::string& name = graph.input(id).name;
    if (!name.empty()) return name;
    const auto place = std::ranges::find(graph.inputs(), id) - graph.inputs().begin();
    const ValueId user = first_user(graph, id);
    const std::string line = user == kNoValue ? "" : graph.line(user);
    return fmt::format("input {} ({}made before{}{})", place, type.empty() ? "" : type + ", ",
                       line.empty() ? "" : ", taken at ", line);
  }
  std::string out(function_of(graph, id));
  for (const std::string& more : {type, graph.place(id)})
    if (!more.empty()) out += " " + more;
  return out;
}

/// If no ops but gradients came or went, the lines that take them are the cause: gradients without
/// users are not recorded. Numbers may have changed besides: no op comes with them.
void promote_takers_of_gradients(std::vector<Difference>& differences) {
  const auto is_op = [](const Difference& d) {
    return d.cause == Cause::kOpAdded || d.cause == Cause::kOpRemoved;
  };
  const auto is_gradient = [&](const Difference& d) {
    return !d.derived && is_op(d) && d.gradient && d.remedy != kRematRemedy;
  };
  if (!std::ranges::any_of(differences, is_gradient) ||
      !std::ranges::all_of(differences, [&](const Difference& d) {
        return d.derived || d.cause == Cause::kConstant || is_gradient(d);
      }))
    return;
  const auto taker = std::ranges::find_if(
      differences, [&](const Difference& d) { return is_op(d) && !d.gradient; });
  if (taker != differences.end()) taker->derived = false;
}

/// Parts that are computed again within a larger one that is: of parts that came and parts that
/// went, the larger one is a cause, and with it the graph is larger.
void mark_absorbed_remats(const Comparison& graphs, std::vector<Difference>& differences) {
  const auto is_remat = [](const Difference& d, Cause cause) {
    return !d.derived && d.cause == cause && d.remedy == kRematRemedy;
  };
  const auto any = [&](Cause cause) {
    return std::ranges::any_of(differences,
                               [&](const Difference& d) { return is_remat(d, cause); });
  };
  if (!any(Cause::kOpAdded) || !any(Cause::kOpRemoved)) return;
  const Cause absorbed =
      graphs.now.size() > graphs.old.size() ? Cause::kOpRemoved : Cause::kOpAdded;
  for (Difference& difference : differences)
    if (is_remat(difference, absorbed)) difference.derived = true;
}

}  // namespace

bool is_stop_gradient(const GraphDescriptor& graph, ValueId id) {
  return graph[id].op == Op::kReshape && !graph[id].gradient &&
         graph.same_type(id, graph, graph.operands(id)[0]);
}

std::string describe(const GraphDescriptor& graph, ValueId id) {
  return describe(graph, id, graph.type(id));
}

std::string describe_untyped(const GraphDescriptor& graph, ValueId id) {
  return describe(graph, id, "");
}

std::string describe_numbered(const GraphDescriptor& graph, ValueId id) {
  const std::string text = describe(graph, id);
  int number = 0;
  int count = 0;
  for (ValueId other = 0; other < graph.size(); ++other) {
    const bool alike =
        graph[other].op == graph[id].op && graph[other].gradient == graph[id].gradient;
    if (!alike || describe(graph, other) != text) continue;
    ++count;
    if (other <= id) ++number;
  }
  return fmt::format("{}, number {} of {}{}", text, number, count,
                     graph[id].gradient ? " of the gradient" : "");
}

bool has_root(const std::vector<Difference>& differences, Cause cause) {
  return std::ranges::any_of(differences,
                             [&](const Difference& d) { return d.cause == cause && !d.derived; });
}

std::int64_t count_elements(std::span<const std::int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

ValueId first_user(const GraphDescriptor& graph, ValueId value) {
  for (ValueId id = value + 1; id < graph.size(); ++id)
    if (std::ranges::find(graph.operands(id), value) != graph.operands(id).end()) return id;
  return kNoValue;
}

std::vector<Difference> find_differences(const Comparison& graphs) {
  const RecordedOps recorded(graphs);
  const ModeChange mode(graphs);
  std::vector<Difference> out = compare_leaves(graphs, recorded, mode);
  std::vector<Difference> structure = compare_structure(graphs, recorded, mode, out);
  std::move(structure.begin(), structure.end(), std::back_inserter(out));
  if (mode.any()) out.push_back(mode.difference());
  tell_parameter_updates(graphs, out);
  promote_takers_of_gradients(out);
  // Gradients are recorded for what lines record: they differ because those do, unless only they
  // do.
  const bool lines_differ =
      std::ranges::any_of(out, [](const Difference& d) { return !d.derived && !d.gradient; });
  mark_absorbed_remats(graphs, out);
  // Of these it is what is computed again.
  const bool remat_differs = std::ranges::any_of(
      out, [](const Difference& d) { return !d.derived && d.remedy == kRematRemedy; });
  for (Difference& difference : out) {
    const bool explained = lines_differ || (remat_differs && difference.remedy != kRematRemedy);
    difference.derived = difference.derived || (difference.gradient && explained);
  }
  std::ranges::stable_sort(out, {}, [](const Difference& difference) {
    return std::pair(difference.derived, difference.cause);
  });
  if (out.empty())
    out.push_back({.cause = Cause::kInputs, .subject = "the order of the inputs", .to = "changed"});
  // A difference that follows from no other is a cause.
  out.front().derived = false;
  return out;
}

}  // namespace lockstep
