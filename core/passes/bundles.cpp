#include "core/passes/bundles.h"

#include <numeric>

#include "core/ir/group.h"
#include "core/passes/buffer_aliases.h"
#include "core/passes/replaced_inputs.h"

namespace lockstep {
namespace {

/// Walks over the commands and keeps the bundle that the next one may join.
class LaunchFinder {
 public:
  LaunchFinder(const Graph& graph, const BundleQuery& query)
      : graph_(graph),
        query_(query),
        aliases_(graph),
        in_arena_(graph.nodes.size(), true),
        replaced_(graph, aliases_),
        bundles_(graph) {
    for (ValueId id = 0; id < graph.size(); ++id)
      if (is_given(graph[id])) in_arena_[index_of(id)] = false;
    for (const ValueId output : graph.outputs) in_arena_[index_of(owner(output))] = false;
  }

  CommandBundles run() {
    for (ValueId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_[id];
      if (is_given(node) || aliases_.is_view(id) || node.op == Op::kGroupResult) continue;
      const std::string kind = query_.kind(id);
      const std::int64_t bytes = arena_bytes(id);
      const bool joins = !kind.empty() && kind == kind_ && bytes_ + bytes <= kMaxBundleBytes &&
                         !depends(id) && !replaced_.are_read_since(first_, id);
      if (!joins) {
        first_ = id;
        kind_ = kind;
        bytes_ = 0;
      }
      bytes_ += bytes;
      bundles_.first[index_of(id)] = first_;
      // Known in full when the bundle ends: until then its first command keeps the last one.
      bundles_.last[index_of(first_)] = id;
      replaced_.run(id);
    }
    for (ValueId id = 0; id < graph_.size(); ++id)
      bundles_.last[index_of(id)] = bundles_.last[index_of(bundles_.first[index_of(id)])];
    return std::move(bundles_);
  }

 private:
  ValueId owner(ValueId id) const { return aliases_.owner[index_of(id)]; }

  std::int64_t arena_bytes(ValueId id) const {
    std::int64_t out = query_.scratch_bytes(id);
    const auto add = [&](ValueId value) {
      if (in_arena_[index_of(value)]) out += static_cast<std::int64_t>(graph_[value].type.bytes());
    };
    for (const ValueId operand : graph_[id].operands) add(owner(operand));
    for (std::size_t k = 0; k < result_count(graph_[id]); ++k) add(id + static_cast<ValueId>(k));
    return out;
  }

  /// All values computed since the begin of the bundle are computed by it.
  bool depends(ValueId id) const {
    for (const ValueId operand : graph_[id].operands)
      if (!is_given(graph_[owner(operand)]) && group_of(graph_, owner(operand)) >= first_)
        return true;
    return false;
  }

  const Graph& graph_;
  const BundleQuery& query_;
  BufferAliases aliases_;
  std::vector<bool> in_arena_;  ///< by owner
  ReplacedInputs replaced_;
  CommandBundles bundles_;
  ValueId first_ = kNoValue;  ///< of the current bundle
  std::string kind_;
  std::int64_t bytes_ = 0;
};

}  // namespace

CommandBundles::CommandBundles(const Graph& graph)
    : first(graph.nodes.size()), last(graph.nodes.size()) {
  std::iota(first.begin(), first.end(), 0);
  std::iota(last.begin(), last.end(), 0);
}

CommandBundles find_bundles(const Graph& scheduled, const BundleQuery& query) {
  return LaunchFinder(scheduled, query).run();
}

}  // namespace lockstep
