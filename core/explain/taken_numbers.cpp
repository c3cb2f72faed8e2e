#include "core/explain/taken_numbers.h"

#include <algorithm>
#include <set>

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

}  // namespace

bool is_taken_alike(const Comparison& graphs, NumberPair number) {
  const GraphDescriptor& now = graphs.now;
  for (ValueId id = number.now + 1; id < now.size(); ++id)
    if (now[id].op != Op::kBroadcast && takes_alike(graphs, id, number)) return true;
  return std::ranges::find(now.outputs(), number.now) != now.outputs().end();
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
