#include "core/passes/fuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/ir/group.h"
#include "core/ir/text.h"
#include "core/passes/dce.h"
#include "core/passes/fusion_groups.h"
#include "core/passes/rewrite.h"

namespace lockstep {
namespace {

constexpr int kExplainLevel = 3;

/// Copies a group's members into a body, operands first, in the order in which they are written.
class BodyMaker {
 public:
  BodyMaker(const Graph& graph, FusionGroups& groups, ValueId group,
            const std::vector<ValueId>& results)
      : graph_(graph), groups_(groups), group_(group) {
    body_.strings = graph.strings;
    for (const ValueId result : results) body_.outputs.push_back(member(result));
  }

  Graph take() { return std::move(body_); }
  std::vector<ValueId> operands;  ///< of the group, in the outer graph

 private:
  using Known = std::unordered_map<ValueId, ValueId>;

  // Depth is bounded by the size of a group.
  ValueId member(ValueId id) {
    const auto known = members_.find(id);
    if (known != members_.end()) return known->second;
    Node node = graph_[id];
    for (std::size_t i = 0; i < node.operands.size(); ++i) node.operands[i] = value(graph_[id], i);
    const ValueId now = body_.append(std::move(node));
    members_.emplace(id, now);
    return now;
  }

  ValueId value(const Node& user, std::size_t i) {
    const ValueId id = user.operands[i];
    const FusionLinks& links = groups_.links();
    if (is_scalar_constant(graph_[id])) return member(id);
    const bool own = links.is_fusible(id) && links.is_unit(id) && groups_.group_of(id) == group_;
    const bool clone = links.is_cloned(id) && !reads_other_shape(graph_, user, i);
    return own || clone ? member(id) : parameter(id);
  }

  ValueId parameter(ValueId id) {
    const auto known = parameters_.find(id);
    if (known != parameters_.end()) return known->second;
    operands.push_back(id);
    const ValueId now = body_.add_input(graph_[id].type, InputKind::kState, "");
    parameters_.emplace(id, now);
    return now;
  }

  const Graph& graph_;
  FusionGroups& groups_;
  ValueId group_;
  Graph body_;
  Known members_;
  Known parameters_;  ///< a cloned value can be both
};

/// Whether the body is one reduction, slice or concatenation, whose own kernels are as good.
bool is_lone(const Graph& body) {
  const Op op = body.nodes.back().op;
  return body.nodes.size() == body.inputs.size() + 1 &&
         (info_of(op).op_class == OpClass::kReduction || op == Op::kSlice ||
          op == Op::kConcatenate);
}

std::string describe_ops(const Graph& body) {
  std::string out;
  for (const Node& node : body.nodes) {
    if (node.op == Op::kInput || node.op == Op::kConstant) continue;
    if (!out.empty()) out += ", ";
    out += name_of(node.op);
  }
  return out;
}

class Fuser {
 public:
  Fuser(const Graph& graph, Log& log)
      : graph_(graph), log_(log), groups_(make_fusion_groups(graph)), rewriter_(graph) {}

  Graph run() {
    for (const ValueId id : groups_.order()) {
      const FusionLinks& links = groups_.links();
      if (links.is_fusible(id) && links.is_unit(id)) {
        emit_group(id);
      } else if (!links.is_fusible(id)) {
        emit_value(id);
      }
    }
    if (log_.debug_level() >= kExplainLevel) explain_refusals();
    return drop_dead(rewriter_.finish());
  }

 private:
  /// A group that existed before keeps its results right after it.
  void emit_value(ValueId id) {
    if (graph_[id].op == Op::kGroupResult) return;
    for (std::size_t k = 0; k < result_count(graph_[id]); ++k)
      rewriter_.copy(id + static_cast<ValueId>(k));
  }

  void emit_group(ValueId id) {
    const FusionGroup& group = groups_.group(id);
    std::vector<ValueId> results = group.members;
    std::ranges::sort(results);
    std::erase_if(results, [&](ValueId member) { return !groups_.is_result(member); });
    if (results.empty()) return;  // it has no reader
    BodyMaker maker(graph_, groups_, id, results);
    Graph body = maker.take();
    if (is_lone(body)) {
      rewriter_.copy(results[0]);
      return;
    }
    const int rank = group.domain.rank();
    const std::int64_t axis = group.axis < 0 ? rank : group.axis;
    Node fusion;
    fusion.op = Op::kFusion;
    fusion.type = graph_[results[0]].type;
    fusion.attrs = {{Attr::kShape, group.domain.sizes()}, {Attr::kAxis, {axis}}};
    fusion.origin = graph_[results[0]].origin;
    for (const ValueId operand : maker.operands) {
      LS_CHECK(rewriter_.now(operand) != kNoValue, "a group comes before its operand {}",
               print_node(graph_, operand));
      fusion.operands.push_back(rewriter_.now(operand));
    }
    fusion.body = std::make_shared<const Graph>(std::move(body));
    explain(fusion, results);
    const ValueId now = rewriter_.out().append(std::move(fusion));
    rewriter_.set(results[0], now);
    for (std::size_t k = 1; k < results.size(); ++k) {
      Node result;
      result.op = Op::kGroupResult;
      result.type = graph_[results[k]].type;
      result.operands = {now};
      result.attrs = {{Attr::kIndex, {static_cast<std::int64_t>(k)}}};
      result.origin = graph_[results[k]].origin;
      rewriter_.set(results[k], rewriter_.out().append(std::move(result)));
    }
  }

  void explain(const Node& fusion, const std::vector<ValueId>& results) const {
    if (log_.debug_level() < kExplainLevel) return;
    std::string made;
    for (const ValueId id : results)
      made += fmt::format("{}%{} {}", made.empty() ? "" : ", ", id, graph_[id].type.to_string());
    log_.debug(kExplainLevel, "fuse: {} = {}; over {}, rows end at {}; {} operands; {}", made,
               describe_ops(*fusion.body), Shape(fusion.attrs.ints(Attr::kShape)).to_string(),
               fusion.attrs.integer(Attr::kAxis), fusion.operands.size(),
               fusion.origin.to_string());
  }

  /// Logs why each result of a group is a result.
  void explain_refusals() {
    const FusionLinks& links = groups_.links();
    for (ValueId id = 0; id < graph_.size(); ++id) {
      if (!links.is_unit(id)) continue;
      for (const FusionRead& read : links.reads(id)) {
        if (!links.is_fusible(read.source)) continue;
        const Refusal refusal = groups_.refusal(read, id);
        if (refusal == Refusal::kNone) continue;
        log_.debug(kExplainLevel, "fuse: %{} {} is not joined to its reader %{} {}: {}; {}",
                   read.source, name_of(graph_[read.source].op), id, name_of(graph_[id].op),
                   describe(refusal), graph_[read.source].origin.to_string());
      }
    }
  }

  const Graph& graph_;
  Log& log_;
  FusionGroups groups_;
  Rewriter rewriter_;
};

}  // namespace

Graph fuse(Graph graph, const Target& target, Log& log) {
  (void)target;
  return Fuser(graph, log).run();
}

}  // namespace lockstep
