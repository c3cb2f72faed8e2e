#include "core/explain/op_groups.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "core/ir/split_step.h"

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

/// Whether two lines are so near to each other that one branch has both.
bool are_near(const std::string& a, const std::string& b) {
  constexpr int kBranch = 5;  // lines
  const std::size_t x = a.rfind(':'), y = b.rfind(':');
  return x == y && x != std::string::npos && a.compare(0, x, b, 0, y) == 0 &&
         std::abs(std::atoi(a.c_str() + x + 1) - std::atoi(b.c_str() + y + 1)) <= kBranch;
}

/// Whether it takes one result only, and is far from the line that gives it: in a chain of ops each
/// line stands for itself.
bool is_link(const GraphDescriptor& graph, const OpGroup& group, ValueId id, ValueId operand) {
  const auto others = [&](ValueId each) {
    return each != operand && !is_leaf(graph, each) &&
           std::ranges::find(group.ids, each) == group.ids.end();
  };
  const bool in_update =
      graph.scope(id).starts_with(kUpdateScope) && graph.scope(id) == graph.scope(operand);
  return !in_update && !graph[id].gradient && !graph[operand].gradient && !graph.line(id).empty() &&
         std::ranges::none_of(graph.operands(id), others) &&
         !are_near(graph.line(id), graph.line(operand));
}

/// Whether an op of the group works on a result of an earlier one, over any number of ops. What a
/// line that was not there before makes of gradients does not follow from them: they were recorded
/// for it.
bool works_on_earlier(const GraphDescriptor& graph, const OpGroup& group, std::size_t number,
                      const std::vector<std::size_t>& group_of,
                      const std::set<std::string>& replaced, bool new_line) {
  const bool records = !graph[group.told].gradient;  // of its own, then its gradients follow
  return std::ranges::any_of(group.ids, [&](ValueId id) {
    if (records && graph[id].gradient) return false;
    return std::ranges::any_of(graph.operands(id), [&](ValueId operand) {
      const bool for_it = new_line && graph[operand].gradient && !graph[id].gradient;
      if (for_it) return is_of_earlier(graph, operand, number, group_of);
      const bool is_new = graph[operand].gradient || !replaced.contains(graph.line(operand));
      return group_of[index_of(operand)] < number && !is_leaf(graph, operand) && is_new &&
             !is_link(graph, group, id, operand);
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

/// Of the ops that the line recorded itself, if there are any.
bool is_only_dropped(const GraphDescriptor& graph, const OpGroup& group,
                     const RecordedOps& recorded) {
  const auto is_own = [&](ValueId id) { return !is_leaf(graph, id) && !graph[id].gradient; };
  return std::ranges::any_of(group.ids, is_own) && std::ranges::all_of(group.ids, [&](ValueId id) {
           return !is_own(id) || recorded.is_dropped_in_other(graph, id);
         });
}

/// Whether it adds up over micro-batches what other lines compute, for what takes the sums.
bool sums_micro_batches(const GraphDescriptor& graph, const OpGroup& group) {
  return std::ranges::any_of(group.ids,
                             [&](ValueId id) { return is_program_border(graph[id].op); });
}

}  // namespace

bool is_leaf(const GraphDescriptor& graph, ValueId id) {
  const Op op = graph[id].op;
  return op == Op::kInput || op == Op::kConstant || op == Op::kBroadcast || op == Op::kIota;
}

std::vector<OpGroup> group_ops(const GraphDescriptor& graph, const std::vector<ValueId>& ids,
                               const std::set<std::string>& replaced,
                               const RecordedOps& recorded_ops) {
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
  for (OpGroup& group : out) {
    group.only_dropped = is_only_dropped(graph, group, recorded_ops);
    // What works on its results does not follow from it: it is there, or needed, for that.
    if (group.only_dropped || sums_micro_batches(graph, group))
      for (const ValueId id : group.ids) group_of[index_of(id)] = kNoGroup;
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
                    (out.size() > 1 && sums_micro_batches(graph, group));
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
