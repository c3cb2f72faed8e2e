#include "core/explain/changed_ops.h"

#include <algorithm>
#include <vector>

#include "core/explain/literals.h"
#include "core/explain/op_groups.h"

namespace lockstep {
namespace {

/// Whether it computes, and does not only convert or arrange what others compute: that comes and
/// goes with dtypes and shapes.
bool computes(const GraphDescriptor& graph, ValueId id) {
  return !is_leaf(graph, id) && !graph[id].gradient && graph[id].op != Op::kConvert &&
         info_of(graph[id].op).op_class != OpClass::kMovement;
}

bool has(std::span<const ValueId> values, ValueId value) {
  return std::ranges::find(values, value) != values.end();
}

}  // namespace

ChangedOps::ChangedOps(const Comparison& graphs) : graphs_(graphs) {
  for (const GraphDescriptor* graph : {&graphs.old, &graphs.now})
    for (ValueId id = 0; id < graph->size(); ++id)
      if (!is_matched(*graph, id) && computes(*graph, id))
        disturbed_.emplace(graph->line(id), graph->scope(id));
}

bool ChangedOps::are_one(ValueId id) const {
  const ValueId old = graphs_.alignment.to_old[index_of(id)];
  if (is_leaf(graphs_.now, id)) return is_same_place(old, id) || fit_of_takers(id) != kOther;
  if (!is_disturbed(graphs_.now, id) && !is_disturbed(graphs_.old, old)) return true;
  // Gradients are those of what their line records.
  return !graphs_.now[id].gradient && fit_of_operands(id) + fit_of_takers(id) > kSame;
}

bool ChangedOps::is_matched(const GraphDescriptor& graph, ValueId id) const {
  return graphs_.to_other(graph)[index_of(id)] != kNoValue;
}

bool ChangedOps::is_disturbed(const GraphDescriptor& graph, ValueId id) const {
  return disturbed_.contains({graph.line(id), graph.scope(id)});
}

bool ChangedOps::is_same_place(ValueId old, ValueId now) const {
  return graphs_.old.labels()[index_of(old)] == graphs_.now.labels()[index_of(now)];
}

/// Over any number of ops that the other graph has not.
bool ChangedOps::is_made_of(const GraphDescriptor& graph, ValueId id, ValueId source) const {
  std::vector<ValueId> open{id};
  std::set<ValueId> seen;
  while (!open.empty()) {
    const ValueId each = open.back();
    open.pop_back();
    if (is_matched(graph, each) || !seen.insert(each).second) continue;
    const auto operands = graph.operands(each);
    if (has(operands, source)) return true;
    open.insert(open.end(), operands.begin(), operands.end());
  }
  return false;
}

ChangedOps::Fit ChangedOps::fit_of_values(ValueId old, ValueId now) const {
  if (graphs_.alignment.to_old[index_of(now)] == old) return kSame;
  const bool numbers =
      constant_of(graphs_.old, old) != kNoValue && constant_of(graphs_.now, now) != kNoValue;
  if (numbers) return kSame;
  const ValueId ours = graphs_.alignment.to_new[index_of(old)];
  const ValueId theirs = graphs_.alignment.to_old[index_of(now)];
  const bool inserted = (ours != kNoValue && is_made_of(graphs_.now, now, ours)) ||
                        (theirs != kNoValue && is_made_of(graphs_.old, old, theirs));
  return inserted ? kInserted : kOther;
}

ChangedOps::Fit ChangedOps::fit_of_operands(ValueId id) const {
  const auto before = graphs_.old.operands(graphs_.alignment.to_old[index_of(id)]);
  const auto operands = graphs_.now.operands(id);
  if (before.size() != operands.size()) return kOther;
  Fit out = kSame;
  for (std::size_t i = 0; i < operands.size(); ++i)
    out = std::min(out, fit_of_values(before[i], operands[i]));
  return out;
}

ChangedOps::Fit ChangedOps::fit_of_takers(ValueId id) const {
  const ValueId old = graphs_.alignment.to_old[index_of(id)];
  if (has(graphs_.now.outputs(), id) && has(graphs_.old.outputs(), old)) return kSame;
  Fit out = kOther;
  for (ValueId taker = id + 1; taker < graphs_.now.size() && out != kSame; ++taker) {
    const ValueId theirs = graphs_.alignment.to_old[index_of(taker)];
    if (theirs == kNoValue || graphs_.now[taker].gradient) continue;
    const auto before = graphs_.old.operands(theirs);
    const auto operands = graphs_.now.operands(taker);
    const auto leads = [&](const GraphDescriptor& graph, ValueId from) {
      return [this, &graph, from](ValueId operand) { return is_made_of(graph, operand, from); };
    };
    const bool takes = has(operands, id), took = has(before, old);
    // What only arranges the result tells as much as what takes that.
    if (takes && took)
      out = std::max(out, computes(graphs_.now, taker) ? kSame : fit_of_takers(taker));
    if (takes != took && (takes ? std::ranges::any_of(before, leads(graphs_.old, old))
                                : std::ranges::any_of(operands, leads(graphs_.now, id))))
      out = std::max(out, kInserted);
  }
  return out;
}

}  // namespace lockstep
