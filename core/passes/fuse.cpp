#include "core/passes/fuse.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ir/text.h"
#include "core/passes/dce.h"
#include "core/passes/fusion_rules.h"
#include "core/passes/rewrite.h"

namespace lockstep {
namespace {

/// Assigns every fusible value to the group of one root. Values are visited after all their users,
/// and each user says what it wants of its operands: to have them in its group, or in memory.
/// A group never reaches itself through an outside node: only its root has users outside.
class Grouping {
 public:
  explicit Grouping(const Graph& graph)
      : graph_(graph),
        cheap_(find_cheap(graph)),
        wishes_(graph.nodes.size()),
        root_(graph.nodes.size(), kNoValue),
        size_(graph.nodes.size(), 0) {
    for (const ValueId output : graph.outputs) in_memory(output, "it is an output");
    for (ValueId id = graph.size() - 1; id >= 0; --id) visit(id);
  }

  /// Whether the value is the result of a group.
  bool is_root(ValueId id) const { return root_[static_cast<std::size_t>(id)] == id; }
  /// Whether the value is computed inside of the group of `root`.
  bool is_member(ValueId id, ValueId root) const {
    if (root_[static_cast<std::size_t>(id)] == root) return true;
    return cheap_[static_cast<std::size_t>(id)] && may_join(graph_, id, root);
  }
  /// Whether the value is neither a root nor outside of groups.
  bool is_absorbed(ValueId id) const { return is_fusible(graph_[id]) && !is_root(id); }
  const char* reason(ValueId id) const { return wishes_[static_cast<std::size_t>(id)].reason; }

 private:
  struct Wish {
    ValueId group = kNoValue;      ///< the one group whose members use the value
    const char* reason = nullptr;  ///< why it must be in memory; null if it need not
  };

  void in_memory(ValueId id, const char* reason) {
    Wish& wish = wishes_[static_cast<std::size_t>(id)];
    if (wish.reason == nullptr) wish.reason = reason;
  }

  void in_group(ValueId id, ValueId root) {
    Wish& wish = wishes_[static_cast<std::size_t>(id)];
    if (wish.group != kNoValue && wish.group != root) in_memory(id, "several groups use it");
    wish.group = root;
  }

  void visit(ValueId id) {
    const Node& node = graph_[id];
    if (!is_fusible(node)) {
      for (const ValueId operand : node.operands)
        in_memory(operand, "an op outside of groups uses it");
      return;
    }
    const auto at = static_cast<std::size_t>(id);
    Wish& wish = wishes_[at];
    if (cheap_[at]) {
      if (wish.reason != nullptr) root_[at] = id;
      ask_operands(id, kNoValue);
      return;
    }
    const ValueId group = wish.group;
    if (wish.reason == nullptr && group != kNoValue) {
      if (full(group)) wish.reason = "the group is full";
      if (reads_too_much(group, id)) wish.reason = "the group has too many operands";
    }
    root_[at] = wish.reason == nullptr && group != kNoValue ? group : id;
    ++size_[static_cast<std::size_t>(root_[at])];
    ask_operands(id, root_[at]);
  }

  bool full(ValueId root) const { return size_[static_cast<std::size_t>(root)] >= kMaxGroupNodes; }

  /// Whether the group would, were `id` a member of it.
  bool reads_too_much(ValueId root, ValueId id) {
    std::set<ValueId> all = reads_[root];
    all.erase(id);
    for (const ValueId operand : graph_[id].operands)
      if (!is_scalar_constant(graph_[operand])) all.insert(operand);
    return all.size() > kMaxGroupOperands;
  }

  /// `root` is kNoValue for cheap nodes: they may be computed in several groups, and their operands
  /// are cheap too or in memory.
  void ask_operands(ValueId id, ValueId root) {
    const Node& node = graph_[id];
    if (root != kNoValue) reads_[root].erase(id);
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      const ValueId operand = node.operands[i];
      if (is_scalar_constant(graph_[operand])) continue;
      if (root != kNoValue) reads_[root].insert(operand);
      if (needs_memory(graph_, node, i)) {
        in_memory(operand, "it is broadcast, or a key");
      } else if (root != kNoValue && !cheap_[static_cast<std::size_t>(operand)] &&
                 may_join(graph_, operand, root)) {
        in_group(operand, root);
      }
    }
  }

  const Graph& graph_;
  std::vector<bool> cheap_;
  std::vector<Wish> wishes_;
  std::vector<ValueId> root_;  ///< of non-cheap fusible values; a cheap one may be its own root
  std::vector<int> size_;      ///< members of each root's group
  /// What each root's group reads from outside of it; an operand that joins leaves the set.
  std::unordered_map<ValueId, std::set<ValueId>> reads_;
};

/// Copies a group's members into a body, operands first, in the order in which they are written.
class BodyMaker {
 public:
  BodyMaker(const Graph& graph, const Grouping& groups, ValueId root)
      : graph_(graph), groups_(groups), root_(root), now_() {
    body_.strings = graph.strings;
    body_.outputs = {member(root)};
  }

  Graph take() { return std::move(body_); }
  std::vector<ValueId> operands;  ///< of the group, in the outer graph

 private:
  using Known = std::vector<std::pair<ValueId, ValueId>>;

  // Depth is bounded by the size of a group.
  ValueId member(ValueId id) {
    Node node = graph_[id];
    std::vector<ValueId> inner;
    for (std::size_t i = 0; i < node.operands.size(); ++i) inner.push_back(value(node, i));
    node.operands = std::move(inner);
    const ValueId now = body_.append(std::move(node));
    now_.emplace_back(id, now);
    return now;
  }

  ValueId value(const Node& user, std::size_t i) {
    const ValueId id = user.operands[i];
    const bool memory = needs_memory(graph_, user, i);
    for (const auto& [old, now] : now_)
      if (old == id && (!memory || body_[now].op == Op::kInput)) return now;
    const bool in_body =
        is_scalar_constant(graph_[id]) || (!memory && groups_.is_member(id, root_));
    return in_body ? member(id) : parameter(id);
  }

  ValueId parameter(ValueId id) {
    operands.push_back(id);
    const ValueId now = body_.add_input(graph_[id].type, InputKind::kState, "");
    now_.emplace_back(id, now);
    return now;
  }

  const Graph& graph_;
  const Grouping& groups_;
  ValueId root_;
  Graph body_;
  Known now_;  ///< groups are small: a list beats a map
};

void explain(const Graph& graph, const Grouping& groups, const Graph& body, ValueId root,
             Log& log) {
  constexpr int kLevel = 3;
  if (log.debug_level() < kLevel) return;
  std::string ops;
  for (const Node& node : body.nodes) {
    if (!is_fusible(node)) continue;
    if (!ops.empty()) ops += ", ";
    ops += name_of(node.op);
  }
  const char* reason = groups.reason(root);
  log.debug(kLevel, "fuse: %{} {} = {}; {} operands; ends because {}; {}", root,
            graph[root].type.to_string(), ops, body.inputs.size(),
            reason == nullptr ? "nothing it could join uses it" : reason,
            graph[root].origin.to_string());
}

}  // namespace

Graph fuse(Graph graph, const Target& target, Log& log) {
  (void)target;
  const Grouping groups(graph);
  Rewriter rewriter(graph);
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (groups.is_absorbed(id)) continue;
    if (!groups.is_root(id)) {
      rewriter.copy(id);
      continue;
    }
    BodyMaker maker(graph, groups, id);
    Node fusion;
    fusion.op = Op::kFusion;
    fusion.type = graph[id].type;
    fusion.origin = graph[id].origin;
    for (const ValueId operand : maker.operands) fusion.operands.push_back(rewriter.now(operand));
    auto body = std::make_shared<const Graph>(maker.take());
    explain(graph, groups, *body, id, log);
    fusion.body = std::move(body);
    rewriter.set(id, rewriter.out().append(std::move(fusion)));
  }
  return drop_dead(rewriter.finish());
}

}  // namespace lockstep
