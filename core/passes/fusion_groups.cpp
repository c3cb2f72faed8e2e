#include "core/passes/fusion_groups.h"

#include <algorithm>
#include <utility>

#include "core/passes/fusion_rules.h"

namespace lockstep {

std::string_view describe(Boundary boundary) {
  switch (boundary) {
    case Boundary::kNone: return "nothing it could join uses it";
    case Boundary::kOutput: return "it is an output";
    case Boundary::kOutsideUse: return "an op outside of groups uses it";
    case Boundary::kBroadcastSource: return "it is broadcast, or a key";
    case Boundary::kRecomputeSource: return "another value is computed from it in several groups";
    case Boundary::kSeveralGroups: return "several groups use it";
    case Boundary::kFull: return "the group is full";
    case Boundary::kManyOperands: return "the group has too many operands";
  }
  __builtin_unreachable();
}

FusionGroups::FusionGroups(const Graph& graph, std::vector<bool> cloned)
    : graph_(graph),
      cloned_(std::move(cloned)),
      wishes_(graph.nodes.size()),
      root_(graph.nodes.size(), kNoValue),
      size_(graph.nodes.size(), 0) {
  for (const ValueId output : graph.outputs) in_memory(output, Boundary::kOutput);
  for (ValueId id = graph.size() - 1; id >= 0; --id) visit(id);
}

bool FusionGroups::is_member(ValueId id, ValueId root) const {
  if (root_[static_cast<std::size_t>(id)] == root) return true;
  return cloned_[static_cast<std::size_t>(id)] && may_join(graph_, id, root);
}

bool FusionGroups::is_absorbed(ValueId id) const {
  return is_fusible(graph_[id]) && !is_root(id);
}

void FusionGroups::in_memory(ValueId id, Boundary why) {
  Wish& wish = wishes_[static_cast<std::size_t>(id)];
  // Several groups are the weakest reason: a value may be computed again for them.
  if (wish.boundary == Boundary::kNone || wish.boundary == Boundary::kSeveralGroups)
    wish.boundary = why;
}

void FusionGroups::in_group(ValueId id, ValueId root) {
  Wish& wish = wishes_[static_cast<std::size_t>(id)];
  if (wish.group != kNoValue && wish.group != root && wish.boundary == Boundary::kNone)
    wish.boundary = Boundary::kSeveralGroups;
  wish.group = root;
}

void FusionGroups::visit(ValueId id) {
  const Node& node = graph_[id];
  if (!is_fusible(node)) {
    for (const ValueId operand : node.operands) in_memory(operand, Boundary::kOutsideUse);
    return;
  }
  const auto at = static_cast<std::size_t>(id);
  Wish& wish = wishes_[at];
  if (cloned_[at]) {
    if (wish.boundary != Boundary::kNone) root_[at] = id;
    ask_operands(id, kNoValue);
    return;
  }
  const ValueId group = wish.group;
  if (wish.boundary == Boundary::kNone && group != kNoValue) {
    if (size_[static_cast<std::size_t>(group)] >= kMaxGroupNodes) wish.boundary = Boundary::kFull;
    if (reads_too_much(group, id)) wish.boundary = Boundary::kManyOperands;
  }
  root_[at] = wish.boundary == Boundary::kNone && group != kNoValue ? group : id;
  ++size_[static_cast<std::size_t>(root_[at])];
  ask_operands(id, root_[at]);
}

/// Whether the group would, were `id` a member of it.
bool FusionGroups::reads_too_much(ValueId root, ValueId id) {
  std::set<ValueId> all = reads_[root];
  all.erase(id);
  for (const ValueId operand : graph_[id].operands)
    if (!is_scalar_constant(graph_[operand])) all.insert(operand);
  return all.size() > kMaxGroupOperands;
}

/// `root` is kNoValue for clones: they may be computed in several groups, and what they read is
/// cloned too or in memory.
void FusionGroups::ask_operands(ValueId id, ValueId root) {
  const Node& node = graph_[id];
  if (root != kNoValue) reads_[root].erase(id);
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    const ValueId operand = node.operands[i];
    if (is_scalar_constant(graph_[operand])) continue;
    if (root != kNoValue) reads_[root].insert(operand);
    if (needs_memory(graph_, node, i)) {
      in_memory(operand, Boundary::kBroadcastSource);
    } else if (cloned_[static_cast<std::size_t>(operand)]) {
      continue;
    } else if (root == kNoValue) {
      in_memory(operand, Boundary::kRecomputeSource);
    } else if (may_join(graph_, operand, root)) {
      in_group(operand, root);
    }
  }
}

namespace {

/// What computing a value again would take.
struct Recomputation {
  double flops = 0;
  std::vector<ValueId> sources;  ///< full-sized values that are read from memory

  void read(ValueId id) {
    if (std::find(sources.begin(), sources.end(), id) == sources.end()) sources.push_back(id);
  }
};

bool pays(const Graph& graph, const Recomputation& recomputation) {
  const auto& sources = recomputation.sources;
  const bool all_inputs = std::all_of(sources.begin(), sources.end(),
                                      [&](ValueId id) { return graph[id].op == Op::kInput; });
  return recomputation.flops <= kMaxRecomputedFlops &&
         (sources.size() <= 1 || (all_inputs && sources.size() <= kMaxRecomputedInputs));
}

/// The cloned values plus those that are worth computing again; `groups` is the first decision.
std::vector<bool> add_recomputed(const Graph& graph, const FusionGroups& groups,
                                 std::vector<bool> cloned) {
  std::vector<Recomputation> known(graph.nodes.size());
  std::vector<bool> recomputed(graph.nodes.size(), false);
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    const auto at = static_cast<std::size_t>(id);
    if (!is_fusible(node)) continue;
    Recomputation& own = known[at];
    own.flops = info_of(node.op).flops_per_element;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      const ValueId operand = node.operands[i];
      const auto from = static_cast<std::size_t>(operand);
      if (is_scalar_constant(graph[operand]) || needs_memory(graph, node, i)) continue;
      if (cloned[from] || recomputed[from] || groups.is_absorbed(operand)) {
        own.flops += known[from].flops;
        // Long chains are of no interest, and their sources could be many.
        if (own.flops > kMaxRecomputedFlops) break;
        for (const ValueId source : known[from].sources) own.read(source);
      } else {
        own.read(operand);
      }
    }
    recomputed[at] =
        groups.is_root(id) && groups.boundary(id) == Boundary::kSeveralGroups && pays(graph, own);
  }
  // What only a recomputed value is made of goes with it.
  for (ValueId id = graph.size() - 1; id >= 0; --id) {
    const auto at = static_cast<std::size_t>(id);
    if (!recomputed[at]) continue;
    cloned[at] = true;
    for (const ValueId operand : graph[id].operands) {
      const auto from = static_cast<std::size_t>(operand);
      if (is_fusible(graph[operand]) && groups.is_absorbed(operand) && !cloned[from])
        recomputed[from] = true;
    }
  }
  return cloned;
}

}  // namespace

FusionGroups make_fusion_groups(const Graph& graph) {
  std::vector<bool> cheap = find_cheap(graph);
  const FusionGroups first(graph, cheap);
  return FusionGroups(graph, add_recomputed(graph, first, std::move(cheap)));
}

}  // namespace lockstep
