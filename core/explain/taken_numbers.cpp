#include "core/explain/taken_numbers.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

#include "core/explain/literals.h"

namespace lockstep {
namespace {

ValueId partner(const std::vector<ValueId>& to_other, ValueId id) {
  return to_other[static_cast<std::size_t>(id)];
}

bool takes_alike(const Comparison& graphs, ValueId id, NumberPair number) {
  const ValueId old = partner(graphs.alignment.to_old, id);
  if (old == kNoValue) return false;
  const auto before = graphs.old.operands(old);
  const auto operands = graphs.now.operands(id);
  for (std::size_t i = 0; i < std::min(before.size(), operands.size()); ++i)
    if (constant_of(graphs.now, operands[i]) == number.now &&
        constant_of(graphs.old, before[i]) == number.old)
      return true;
  return false;
}

/// An op that takes a value, and as which of its operands.
struct Taker {
  ValueId id;
  std::size_t operand;
};

/// The first that no gradient is; kNoValue if there is none.
Taker next_taker(const GraphDescriptor& graph, ValueId value) {
  for (ValueId id = value + 1; id < graph.size(); ++id) {
    if (graph[id].gradient) continue;
    const auto operands = graph.operands(id);
    const auto found = std::ranges::find(operands, value);
    if (found == operands.end()) continue;
    // Of a list each part is taken alike.
    const bool list = graph[id].op == Op::kConcatenate;
    return {id, list ? 0 : static_cast<std::size_t>(found - operands.begin())};
  }
  return {kNoValue, 0};
}

/// From what takes the number in both graphs over what takes its result, and so on.
std::vector<Taker> way_of(const Comparison& graphs, NumberPair number) {
  const GraphDescriptor& now = graphs.now;
  std::vector<Taker> out;
  for (ValueId id = number.now + 1; id < now.size() && out.empty(); ++id) {
    if (now[id].gradient || now[id].op == Op::kBroadcast || !takes_alike(graphs, id, number))
      continue;
    const auto operands = now.operands(id);
    const auto takes = [&](ValueId operand) { return constant_of(now, operand) == number.now; };
    out.push_back(
        {id, static_cast<std::size_t>(std::ranges::find_if(operands, takes) - operands.begin())});
  }
  if (out.empty()) return out;
  for (Taker next = next_taker(now, out.back().id); next.id != kNoValue;
       next = next_taker(now, next.id))
    out.push_back(next);
  return out;
}

}  // namespace

bool are_taken_in_one_way(const Comparison& graphs, NumberPair a, NumberPair b) {
  const std::vector<Taker> x = way_of(graphs, a);
  const std::vector<Taker> y = way_of(graphs, b);
  // Both lead upwards: the first op of one that the other has, too.
  std::size_t i = 0, j = 0;
  while (i < x.size() && j < y.size() && x[i].id != y[j].id) x[i].id < y[j].id ? ++i : ++j;
  const bool meet = i < x.size() && j < y.size();
  const std::size_t steps = meet ? std::min(i, j) + 1 : std::min(x.size(), y.size());
  const auto alike = [&](const Taker& one, const Taker& other) {
    return graphs.now[one.id].op == graphs.now[other.id].op && one.operand == other.operand &&
           graphs.now.line(one.id) == graphs.now.line(other.id);
  };
  return steps > 0 &&
         std::equal(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(steps), y.begin(), alike);
}

bool is_taken_alike(const Comparison& graphs, const ChangedOps& ops, NumberPair number) {
  const GraphDescriptor& now = graphs.now;
  for (ValueId id = number.now + 1; id < now.size(); ++id)
    if (now[id].op != Op::kBroadcast && takes_alike(graphs, id, number) && ops.are_one(id))
      return true;
  // Or it is kept, perhaps repeated.
  return std::ranges::any_of(now.outputs(), [&](ValueId id) {
    const ValueId old = partner(graphs.alignment.to_old, id);
    return old != kNoValue && constant_of(now, id) == number.now &&
           constant_of(graphs.old, old) == number.old;
  });
}

void tell_other_lines(const Comparison& graphs, NumberPair number, Difference& difference) {
  const GraphDescriptor& now = graphs.now;
  std::set<std::string> lines;
  bool own = false;
  for (ValueId id = number.now + 1; id < now.size(); ++id) {
    if (now[id].gradient || now[id].op == Op::kBroadcast || !takes_alike(graphs, id, number))
      continue;
    own = own || now.line(id) == difference.line;
    if (now.line(id) != difference.line) lines.insert(now.line(id));
  }
  // One that stands on a line of its own is made there.
  if (lines.empty() || !own) return;
  difference.subject += fmt::format(" and {}", *lines.begin());
  if (lines.size() > 1) difference.subject += fmt::format(" and {} more", lines.size() - 1);
}

void tell_own_place(const Comparison& graphs, NumberPair number, ValueId taker,
                    Difference& difference) {
  const ValueId equal = partner(graphs.alignment.to_old, number.now);
  if (equal == kNoValue || equal == number.old) return;
  const bool stayed = partner(graphs.alignment.to_new, number.old) != kNoValue;
  const GraphDescriptor& graph = stayed ? graphs.now : graphs.old;
  const ValueId place = stayed ? taker : number.old;
  difference.subject = fmt::format("{} {} {}", name_of(Op::kConstant), graphs.now.type(number.now),
                                   graph.place(place));
  difference.line = graph.line(place);
  difference.scope = graph.scope(place);
}

}  // namespace lockstep
