#include "core/explain/op_groups.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace lockstep {
namespace {

constexpr std::size_t kNoGroup = static_cast<std::size_t>(-1);

/// Whether a gradient was made of what a line of an earlier group records, over any number of
/// gradients that the other graph has not.
bool is_of_earlier(const GraphDescriptor& graph, ValueId gradient, std::size_t number,
                   const std::vector<std::size_t>& group_of) {
  std::vector<ValueId> open{gradient};
  std::set<ValueId> seen;
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    if (group_of[index_of(id)] >= number || is_leaf(graph, id) || !seen.insert(id).second) continue;
    if (!graph[id].gradient) return true;
    open.insert(open.end(), graph.operands(id).begin(), graph.operands(id).end());
  }
  return false;
}

/// Whether an op of the group works on a result of an earlier one, over any number of ops. What a
/// line that was not there before makes of gradients does not follow from them: they were recorded
/// for it.
bool works_on_earlier(const GraphDescriptor& graph, const OpGroup& group, std::size_t number,
                      const std::vector<std::size_t>& group_of,
                      const std::set<std::string>& replaced, bool new_line) {
  return std::ranges::any_of(group.ids, [&](ValueId id) {
    return std::ranges::any_of(graph.operands(id), [&](ValueId operand) {
      const bool for_it = new_line && graph[operand].gradient && !graph[id].gradient;
      if (for_it) return is_of_earlier(graph, operand, number, group_of);
      const bool is_new = graph[operand].gradient || !replaced.contains(graph.line(operand));
      return group_of[index_of(operand)] < number && !is_leaf(graph, operand) && is_new;
    });
  });
}

/// Of ops that both graphs have, gradients apart.
std::set<std::string> lines_of_others(const GraphDescriptor& graph,
                                      const std::vector<ValueId>& ids) {
  std::set<std::string> out;
  auto next = ids.begin();
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (next != ids.end() && *next == id) {
      ++next;
    } else if (!graph[id].gradient) {
      out.insert(graph.line(id));
    }
  }
  return out;
}

/// Whether it adds up over micro-batches what earlier groups, or numbers of theirs, are.
bool sums_micro_batches(const GraphDescriptor& graph, const OpGroup& group) {
  return std::ranges::any_of(group.ids, [&](ValueId id) { return graph[id].op == Op::kAllReduce; });
}

}  // namespace

bool is_leaf(const GraphDescriptor& graph, ValueId id) {
  const Op op = graph[id].op;
  return op == Op::kInput || op == Op::kConstant || op == Op::kBroadcast || op == Op::kIota;
}

std::vector<OpGroup> group_ops(const GraphDescriptor& graph, const std::vector<ValueId>& ids,
                               const std::set<std::string>& replaced) {
  std::vector<OpGroup> out;
  std::map<std::pair<std::string, std::string>, std::size_t> by_place;
  std::vector<std::size_t> group_of(index_of(graph.size()), kNoGroup);
  for (const ValueId id : ids) {
    if (graph[id].op == Op::kInput) continue;
    const auto [found, inserted] =
        by_place.try_emplace({graph.line(id), graph.scope(id)}, out.size());
    const std::size_t number = graph.line(id).empty() ? out.size() : found->second;
    if (number == out.size()) out.emplace_back();
    out[number].ids.push_back(id);
    group_of[index_of(id)] = number;
  }
  const std::set<std::string> known = lines_of_others(graph, ids);
  std::map<std::string, std::size_t> by_line;
  for (std::size_t number = 0; number < out.size(); ++number) {
    OpGroup& group = out[number];
    const auto works = [&](ValueId id) { return !is_leaf(graph, id); };
    const auto recorded = [&](ValueId id) { return works(id) && !graph[id].gradient; };
    auto told = std::ranges::find_if(group.ids, recorded);
    if (told == group.ids.end()) told = std::ranges::find_if(group.ids, works);
    group.told = told == group.ids.end() ? group.ids.front() : *told;
    const bool new_line = !known.contains(graph.line(group.told));
    group.follows = works_on_earlier(graph, group, number, group_of, replaced, new_line) ||
                    (number > 0 && sums_micro_batches(graph, group));
    const std::string& line = graph.line(group.told);
    if (line.empty()) continue;
    const auto [first, inserted] = by_line.try_emplace(line, number);
    if (inserted) continue;
    group.follows = true;
    ++out[first->second].other_scopes;
  }
  return out;
}

}  // namespace lockstep
