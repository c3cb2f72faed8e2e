#include "core/passes/fuse.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "core/ir/text.h"
#include "core/passes/dce.h"
#include "core/passes/fusion_groups.h"
#include "core/passes/fusion_rules.h"
#include "core/passes/rewrite.h"

namespace lockstep {
namespace {

/// Copies a group's members into a body, operands first, in the order in which they are written.
class BodyMaker {
 public:
  BodyMaker(const Graph& graph, const FusionGroups& groups, ValueId root)
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
  const FusionGroups& groups_;
  ValueId root_;
  Graph body_;
  Known now_;  ///< groups are small: a list beats a map
};

void explain(const Graph& graph, const FusionGroups& groups, const Graph& body, ValueId root,
             Log& log) {
  constexpr int kLevel = 3;
  if (log.debug_level() < kLevel) return;
  std::string ops;
  for (const Node& node : body.nodes) {
    if (!is_fusible(node)) continue;
    if (!ops.empty()) ops += ", ";
    ops += name_of(node.op);
  }
  log.debug(kLevel, "fuse: %{} {} = {}; {} operands; ends because {}; {}", root,
            graph[root].type.to_string(), ops, body.inputs.size(), describe(groups.boundary(root)),
            graph[root].origin.to_string());
}

}  // namespace

Graph fuse(Graph graph, const Target& target, Log& log) {
  (void)target;
  const FusionGroups groups = make_fusion_groups(graph);
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
