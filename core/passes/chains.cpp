#include "core/passes/chains.h"

#include "core/ir/group.h"
#include "core/passes/buffer_aliases.h"
#include "core/passes/replaced_inputs.h"

namespace lockstep {
namespace {

/// Walks over the commands and keeps the chain that the next one may join.
class ChainFinder {
 public:
  ChainFinder(const Graph& graph, const CommandBundles& bundles, const ChainQuery& query)
      : graph_(graph), query_(query), aliases_(graph), replaced_(graph, aliases_), out_(bundles) {}

  CommandBundles run() {
    for (ValueId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_[id];
      if (is_given(node) || aliases_.is_view(id) || node.op == Op::kGroupResult) continue;
      const bool has_tasks = is_alone(id) && query_.tasks(id) > 0;
      if (!has_tasks || !may_join(id)) end_chain();
      if (has_tasks) chain_.push_back(id);
      replaced_.run(id);
    }
    end_chain();
    return std::move(out_);
  }

 private:
  ValueId owner(ValueId id) const { return aliases_.owner[index_of(id)]; }
  std::int64_t bytes(ValueId id) const {
    return static_cast<std::int64_t>(graph_[id].type.bytes());
  }
  bool is_alone(ValueId id) const {
    return out_.first[index_of(id)] == id && out_.last[index_of(id)] == id;
  }

  bool is_small(ValueId command) const {
    if (query_.tasks(command) != 1) return false;
    std::int64_t sum = 0;
    for (const ValueId operand : graph_[command].operands) sum += bytes(operand);
    for (std::size_t k = 0; k < result_count(graph_[command]); ++k)
      sum += bytes(command + static_cast<ValueId>(k));
    return sum <= kMaxSmallCommand;
  }

  bool is_read_in_parts(ValueId command, std::size_t i) const {
    const std::int64_t part = query_.read_bytes(command, i);
    return part <= kMaxChainedPart && part < bytes(graph_[command].operands[i]);
  }
  bool is_written_in_parts(ValueId value) const {
    const std::int64_t part =
        query_.written_bytes(group_of(graph_, value), result_index(graph_, value));
    return part <= kMaxChainedPart && part < bytes(value);
  }

  /// Whether the chain so far computes the value.
  bool is_inside(ValueId value) const {
    return !is_given(graph_[value]) && group_of(graph_, value) >= chain_.front();
  }

  bool may_join(ValueId id) const {
    if (chain_.empty() || chain_.size() == kMaxChain) return false;
    if (replaced_.are_read_since(chain_.front(), id)) return false;
    bool reads_chain = false;
    for (std::size_t i = 0; i < graph_[id].operands.size(); ++i) {
      const ValueId value = owner(graph_[id].operands[i]);
      if (!is_inside(value)) continue;
      reads_chain = true;
      const bool in_parts = is_written_in_parts(value) && (is_read_in_parts(id, i) || is_small(id));
      if (!in_parts && !is_small(group_of(graph_, value))) return false;
    }
    return reads_chain;
  }

  /// Whether any command reads in parts a value that an earlier one writes in parts.
  bool is_worth_it() const {
    for (const ValueId id : chain_)
      for (std::size_t i = 0; i < graph_[id].operands.size(); ++i) {
        const ValueId value = owner(graph_[id].operands[i]);
        if (is_inside(value) && is_written_in_parts(value) && is_read_in_parts(id, i)) return true;
      }
    return false;
  }

  void end_chain() {
    if (chain_.size() > 1 && is_worth_it())
      for (const ValueId id : chain_) {
        out_.first[index_of(id)] = chain_.front();
        out_.last[index_of(id)] = chain_.back();
      }
    chain_.clear();
  }

  const Graph& graph_;
  const ChainQuery& query_;
  BufferAliases aliases_;
  ReplacedInputs replaced_;
  CommandBundles out_;
  std::vector<ValueId> chain_;
};

}  // namespace

CommandBundles find_chains(const Graph& scheduled, const CommandBundles& bundles,
                           const ChainQuery& query) {
  return ChainFinder(scheduled, bundles, query).run();
}

}  // namespace lockstep
