#include "core/trace/late_leaves.h"

#include <algorithm>
#include <utility>

namespace lockstep {
namespace {

class LateLeaves {
 public:
  LateLeaves(Graph& graph, std::vector<bool>& keep)
      : graph_(graph), keep_(keep), late_(keep.size(), false) {}

  bool find() {
    std::vector<bool> is_used(keep_.size(), false);
    std::vector<bool> used_first_by_kept(keep_.size(), false);
    for (std::size_t i = 0; i < keep_.size(); ++i)
      for (const ValueId operand : graph_.nodes[i].operands) {
        const std::size_t at = index_of(operand);
        if (!is_used[at]) used_first_by_kept[at] = keep_[i];
        is_used[at] = true;
      }
    bool any = false;
    for (std::size_t i = keep_.size(); i-- > 0;) {
      if (!keep_[i] || !is_used[i] || !is_leaf(i)) continue;
      late_[i] = late_[i] || !used_first_by_kept[i];
      any = any || late_[i];
      // The constant that a broadcast repeats moves with it.
      if (late_[i])
        for (const ValueId operand : graph_.nodes[i].operands) late_[index_of(operand)] = true;
    }
    return any;
  }

  std::vector<std::size_t> move() {
    for (std::size_t i = 0; i < keep_.size(); ++i)
      if (!late_[i]) place(i);
    for (std::size_t i = 0; i < keep_.size(); ++i)
      if (late_[i]) place(i);  // an output that no op takes
    std::vector<Node> nodes;
    std::vector<bool> keep;
    for (const std::size_t i : order_) {
      nodes.push_back(std::move(graph_.nodes[i]));
      for (ValueId& operand : nodes.back().operands) operand = new_id(operand);
      keep.push_back(keep_[i]);
    }
    graph_.nodes = std::move(nodes);
    keep_ = std::move(keep);
    for (ValueId& output : graph_.outputs) output = new_id(output);
    return order_inputs();
  }

 private:
  ValueId new_id(ValueId id) const { return new_ids_[index_of(id)]; }
  bool is_leaf(std::size_t i) const {
    const Node& node = graph_.nodes[i];
    return node.op == Op::kInput || node.op == Op::kConstant ||
           (node.op == Op::kBroadcast &&
            graph_.nodes[index_of(node.operands[0])].op == Op::kConstant);
  }

  void place(std::size_t i) {
    if (new_ids_.empty()) new_ids_.assign(keep_.size(), kNoValue);
    if (new_ids_[i] != kNoValue) return;
    for (const ValueId operand : graph_.nodes[i].operands)
      if (keep_[i] && late_[index_of(operand)]) place(index_of(operand));
    new_ids_[i] = static_cast<ValueId>(order_.size());
    order_.push_back(i);
  }

  std::vector<std::size_t> order_inputs() {
    std::vector<std::pair<ValueId, std::size_t>> inputs;
    inputs.reserve(graph_.inputs.size());
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i)
      inputs.emplace_back(new_id(graph_.inputs[i]), i);
    std::ranges::sort(inputs);
    std::vector<std::size_t> out;
    std::vector<std::int32_t> new_place(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      graph_.inputs[i] = inputs[i].first;
      new_place[inputs[i].second] = static_cast<std::int32_t>(i);
      out.push_back(inputs[i].second);
    }
    for (Update& update : graph_.updates)
      update.input = new_place[static_cast<std::size_t>(update.input)];
    return out;
  }

  Graph& graph_;
  std::vector<bool>& keep_;
  std::vector<bool> late_;
  std::vector<std::size_t> order_;
  std::vector<ValueId> new_ids_;
};

}  // namespace

std::vector<std::size_t> move_late_leaves(Graph& graph, std::vector<bool>& keep) {
  LateLeaves leaves(graph, keep);
  return leaves.find() ? leaves.move() : std::vector<std::size_t>();
}

}  // namespace lockstep
