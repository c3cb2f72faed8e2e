#include "core/explain/operand_changes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "core/explain/exchanged.h"
#include "core/explain/remedies.h"

namespace lockstep {
namespace {

/// Sets of values of which each has the place of another one of the set.
std::vector<std::set<ValueId>> cycles_of(std::map<ValueId, ValueId> to) {
  std::vector<std::set<ValueId>> out;
  while (!to.empty()) {
    std::set<ValueId>& cycle = out.emplace_back();
    const ValueId first = to.begin()->first;
    for (ValueId value = first; cycle.empty() || value != first;) {
      const auto next = to.find(value);
      if (next == to.end()) {
        out.pop_back();
        break;
      }
      cycle.insert(value);
      value = next->second;
      to.erase(next);
    }
  }
  return out;
}

/// Turns it into a difference of order: "results are taken in another order at model.cpp:41".
void tell_order(Difference& difference, const char* of_what) {
  difference.cause = Cause::kOpOrder;
  difference.derived = false;
  difference.subject = of_what;
  difference.from.clear();
  difference.to = fmt::format("are taken in another order at {}", difference.line);
  difference.remedy = kTakenOrderRemedy;
}

}  // namespace

Difference& OperandChanges::add(Cause cause, ValueId id, std::string subject) {
  Difference difference{.cause = cause, .subject = std::move(subject)};
  difference.line = now_.line(id);
  difference.scope = now_.scope(id);
  difference.gradient = now_[id].gradient;
  return out_.emplace_back(std::move(difference));
}

void OperandChanges::tell_parts(ValueId id) {
  const auto recorded = [](const GraphDescriptor& graph, const std::vector<ValueId>& to_other) {
    return [&](ValueId part) {
      return to_other[index_of(part)] == kNoValue && graph[part].op != Op::kInput;
    };
  };
  const auto before = old_.operands(old_of(id));
  const auto operands = now_.operands(id);
  Difference& difference = add(Cause::kInputs, id, "operands of " + describe_untyped(now_, id));
  difference.from = std::to_string(before.size());
  difference.to = std::to_string(operands.size());
  difference.derived = std::ranges::any_of(operands, recorded(now_, graphs_.alignment.to_old)) ||
                       std::ranges::any_of(before, recorded(old_, graphs_.alignment.to_new));
  difference.remedy = kPartsRemedy;
}

void OperandChanges::tell_swap(ValueId id) {
  Difference& difference = add(Cause::kOpOrder, id, describe(now_, id));
  difference.to = "takes its operands in another order";
  difference.remedy = kSwapRemedy;
  difference.derived = context_.lines.contains(difference.line);
}

void OperandChanges::tell_operand(ValueId id) {
  const auto before = old_.operands(old_of(id));
  const auto operands = now_.operands(id);
  std::size_t i = 0;
  while (i < operands.size() && i < before.size() && old_of(operands[i]) == before[i]) ++i;
  const bool input = (i < before.size() && old_.is_input(before[i])) ||
                     (i < operands.size() && now_.is_input(operands[i]));
  Difference& difference =
      add(Cause::kInputs, id, fmt::format("operand {} of {}", i, describe(now_, id)));
  difference.from = i < before.size() ? describe(old_, before[i]) : "none";
  difference.to = i < operands.size() ? describe(now_, operands[i]) : "none";
  if (difference.from == difference.to) {  // results of one line, which the new graph counts
    difference.from = describe_numbered(now_, graphs_.alignment.to_new[index_of(before[i])]);
    difference.to = describe_numbered(now_, operands[i]);
  }
  if (!input) difference.remedy = kOperandRemedy;
  if (now_[id].gradient) {
    difference.derived = !context_.same_ops || !context_.lines.empty();
    return;
  }
  Taken& taken = input ? inputs_ : results_;
  // What takes another result changes the way of the gradients.
  difference.derived = !input && !taken.empty();
  bool known = true;  // one input in the place of another is one cause, however many ops take it
  for (; i < operands.size() && i < before.size(); ++i) {
    const Replaced replaced{before[i], old_of(operands[i]), id, out_.size() - 1};
    if (replaced.before == replaced.now) continue;
    known = known && std::ranges::find(taken, replaced) != taken.end();
    taken.push_back(replaced);
  }
  difference.derived = difference.derived || known;
}

void OperandChanges::tell_choice(ValueId id) {
  const auto before = old_.operands(old_of(id));
  const auto operands = now_.operands(id);
  std::size_t i = 0;
  while (old_of(operands[i]) == before[i]) ++i;
  Difference& difference =
      add(Cause::kInputs, id, fmt::format("operand {} of {}", i, describe(now_, id)));
  difference.from = describe(old_, before[i]);
  difference.to = describe(now_, operands[i]);
  difference.remedy = kOperandRemedy;
  difference.derived = !choices_.emplace(before[i], operands[i]).second;
}

void OperandChanges::settle() {
  settle(inputs_, "inputs");
  settle(results_, "results");
}

/// Several ops may have taken the same values, each another of them: in another order, or in each
/// other's roles.
void OperandChanges::settle(Taken taken, const char* what) {
  std::erase_if(taken, [&](const Replaced& each) {
    if (is_disturbed(each)) out_[each.difference].derived = true;
    return is_disturbed(each);
  });
  if (taken.empty()) return;
  std::map<ValueId, ValueId> to;  // what took whose place, if that is one for each
  std::vector<ValueId> before, now;
  for (const Replaced& each : taken) {
    to.emplace(each.before, each.now);
    before.push_back(each.before);
    now.push_back(each.now);
  }
  std::ranges::sort(before);
  std::ranges::sort(now);
  std::vector<std::set<ValueId>> cycles = cycles_of(to);
  // Not where one of them is made of another.
  const bool chained = std::ranges::any_of(
      taken, [&](const Replaced& each) { return to.contains(old_of(each.taker)); });
  if (chained) return;
  std::erase_if(cycles, [&](const std::set<ValueId>& cycle) {
    return std::ranges::any_of(taken, [&](const Replaced& each) {
      return cycle.contains(each.before) && to[each.before] != each.now;
    });
  });
  const bool same_values = before.size() > 1 && before == now;
  if (cycles.empty() && !same_values) return;
  for (const Replaced& each : taken)
    if (cycles.empty() || std::ranges::any_of(cycles, [&](const std::set<ValueId>& cycle) {
          return cycle.contains(each.before);
        }))
      out_[each.difference].derived = true;
  if (cycles.empty()) tell_order(out_[taken.front().difference], what);
  const bool only_order = !cycles.empty() && are_equal_but_for_order(old_, now_);
  for (const std::set<ValueId>& cycle : cycles) {
    Taken part;
    std::ranges::copy_if(taken, std::back_inserter(part),
                         [&](const Replaced& each) { return cycle.contains(each.before); });
    Difference& first = out_[part.front().difference];
    if (only_order || are_terms(part)) {
      tell_order(first, what);
    } else {
      tell_roles(first, cycle);
    }
  }
}

/// Whether lines of the taker, or of the values, recorded other ops, or in another order: then
/// these may be mistaken for each other.
bool OperandChanges::is_disturbed(const Replaced& each) const {
  const auto disturbed = [&](const GraphDescriptor& graph, ValueId id) {
    return !graph.is_input(id) && context_.lines.contains(graph.line(id));
  };
  return disturbed(now_, each.taker) || disturbed(old_, each.before) || disturbed(old_, each.now);
}

/// Whether all are taken by ops of one line that add them up, each to the sum of those before.
bool OperandChanges::are_terms(const Taken& taken) const {
  const ValueId first = taken.front().taker;
  ValueId sum = first;
  return std::ranges::all_of(taken, [&](const Replaced& each) {
    const ValueId taker = each.taker;
    const auto operands = now_.operands(taker);
    const bool continues = taker == sum || std::ranges::find(operands, sum) != operands.end();
    sum = taker;
    return continues && info_of(now_[taker].op).commutative && now_[taker].op == now_[first].op &&
           now_[taker].origin == now_[first].origin;
  });
}

/// These took each other's places.
void OperandChanges::tell_roles(Difference& difference, const std::set<ValueId>& values) const {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const ValueId value : values) names.push_back(describe(old_, value));
  const std::string last = std::move(names.back());
  names.pop_back();
  difference.cause = Cause::kInputs;
  difference.derived = false;
  difference.subject = fmt::format("{} and {}", fmt::join(names, ", "), last);
  difference.from.clear();
  difference.to = fmt::format("took each other's places at {}", difference.line);
  difference.remedy = kOperandRemedy;
}

}  // namespace lockstep
