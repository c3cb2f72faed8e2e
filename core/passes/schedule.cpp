#include "core/passes/schedule.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/ir/group.h"
#include "core/passes/buffer_aliases.h"
#include "core/passes/rewrite.h"

namespace lockstep {
namespace {

/// Of commands: group_results go where their groups go.
using Order = std::vector<ValueId>;

/// Memory as it grows and shrinks while nodes run.
class Memory {
 public:
  explicit Memory(const Graph& graph)
      : graph_(graph),
        aliases_(graph),
        uses_left_(graph.nodes.size(), 0),
        own_(graph.nodes.size(), true) {
    for (const Node& node : graph.nodes)
      if (node.op != Op::kGroupResult)
        for (const ValueId operand : node.operands) ++uses_left_[index_of(owner(operand))];
    for (ValueId id = 0; id < graph.size(); ++id)
      if (is_given(graph[id]) || aliases_.is_view(id)) own_[index_of(id)] = false;
    // Outputs have memory of their own.
    for (const ValueId output : graph.outputs) own_[index_of(owner(output))] = false;
  }

  /// How much more memory is in use after the node than before it.
  std::int64_t growth(ValueId id) const {
    std::int64_t out = 0;
    for (std::size_t k = 0; k < result_count(graph_[id]); ++k)
      out += bytes(id + static_cast<ValueId>(k));
    const auto& operands = graph_[id].operands;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const ValueId from = owner(operands[i]);
      int uses = 0;
      bool seen = false;
      for (std::size_t j = 0; j < operands.size(); ++j) {
        if (owner(operands[j]) != from) continue;
        ++uses;
        seen = seen || j < i;
      }
      if (!seen && uses_left_[index_of(from)] == uses) out -= bytes(from);
    }
    return out;
  }

  void run(ValueId id) {
    const ValueId end = id + static_cast<ValueId>(result_count(graph_[id]));
    for (ValueId result = id; result < end; ++result) live_ += bytes(result);
    peak_ = std::max(peak_, live_);
    for (ValueId result = id; result < end; ++result)
      if (uses_left_[index_of(result)] == 0) live_ -= bytes(result);
    for (const ValueId operand : graph_[id].operands) {
      const ValueId from = owner(operand);
      if (--uses_left_[index_of(from)] == 0) live_ -= bytes(from);
    }
  }

  std::int64_t peak() const { return peak_; }

 private:
  ValueId owner(ValueId id) const { return aliases_.owner[index_of(id)]; }
  std::int64_t bytes(ValueId id) const {
    return own_[index_of(id)] ? static_cast<std::int64_t>(graph_[id].type.bytes()) : 0;
  }

  const Graph& graph_;
  BufferAliases aliases_;
  std::vector<int> uses_left_;  ///< per owner, through views too
  std::vector<bool> own_;       ///< takes arena memory
  std::int64_t live_ = 0;
  std::int64_t peak_ = 0;
};

std::int64_t peak_of(const Graph& graph, const Order& order) {
  Memory memory(graph);
  for (const ValueId id : order) memory.run(id);
  return memory.peak();
}

/// Per command: the commands that read any of its results.
std::vector<std::vector<ValueId>> find_users(const Graph& graph) {
  std::vector<std::vector<ValueId>> users(graph.nodes.size());
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].op == Op::kGroupResult) continue;
    for (const ValueId operand : graph[id].operands) {
      std::vector<ValueId>& list = users[index_of(group_of(graph, operand))];
      if (list.empty() || list.back() != id) list.push_back(id);
    }
  }
  return users;
}

/// The commands that make outputs.
std::vector<bool> find_outputs(const Graph& graph) {
  std::vector<bool> out(graph.nodes.size(), false);
  for (const ValueId output : graph.outputs) out[index_of(group_of(graph, output))] = true;
  return out;
}

/// The recorded order with late leaves and early outputs.
class TracedOrder {
 public:
  explicit TracedOrder(const Graph& graph)
      : graph_(graph),
        users_(find_users(graph)),
        is_output_(find_outputs(graph)),
        done_(graph.nodes.size(), false) {
    for (ValueId id = 0; id < graph.size(); ++id)
      if (!is_late(group_of(graph, id))) run(id);
    for (ValueId id = 0; id < graph.size(); ++id) run(id);
  }
  Order take() { return std::move(order_); }

 private:
  /// Reads only inputs and constants.
  bool is_late(ValueId id) const {
    if (is_given(graph_[id]) || is_output_[index_of(id)]) return false;
    return std::all_of(graph_[id].operands.begin(), graph_[id].operands.end(),
                       [&](ValueId operand) { return is_given(graph_[operand]); });
  }

  /// Runs the node, and then every output that waited only for it.
  void run(ValueId id) {
    id = group_of(graph_, id);
    if (done_[index_of(id)]) return;
    // What was left for later reads only inputs and constants: this goes no deeper than that.
    for (const ValueId operand : graph_[id].operands) run(operand);
    if (done_[index_of(id)]) return;  // it is an output and had only to wait for an operand
    std::size_t next = order_.size();
    append(id);
    for (; next < order_.size(); ++next) {
      if (is_given(graph_[order_[next]])) continue;
      for (const ValueId user : users_[index_of(order_[next])])
        if (is_output_[index_of(user)] && !done_[index_of(user)] && is_ready(user)) append(user);
    }
  }

  void append(ValueId id) {
    done_[index_of(id)] = true;
    order_.push_back(id);
  }

  bool is_ready(ValueId id) const {
    return std::all_of(graph_[id].operands.begin(), graph_[id].operands.end(),
                       [&](ValueId operand) { return done_[index_of(group_of(graph_, operand))]; });
  }

  const Graph& graph_;
  std::vector<std::vector<ValueId>> users_;
  std::vector<bool> is_output_;
  std::vector<bool> done_;
  Order order_;
};

/// Always the ready node that grows memory least; of equal ones the earlier. Quadratic in the
/// number of ready nodes.
Order greedy_order(const Graph& graph) {
  const auto users = find_users(graph);
  std::vector<int> waits_for(graph.nodes.size(), 0);
  for (const auto& list : users)
    for (const ValueId user : list) ++waits_for[index_of(user)];
  Order ready;
  for (ValueId id = 0; id < graph.size(); ++id)
    if (waits_for[index_of(id)] == 0 && graph[id].op != Op::kGroupResult) ready.push_back(id);
  Memory memory(graph);
  Order order;
  while (!ready.empty()) {
    auto best = ready.begin();
    auto least = std::pair(memory.growth(*best), *best);
    for (auto it = ready.begin() + 1; it != ready.end(); ++it) {
      const auto candidate = std::pair(memory.growth(*it), *it);
      if (candidate >= least) continue;
      least = candidate;
      best = it;
    }
    const ValueId id = *best;
    *best = ready.back();
    ready.pop_back();
    memory.run(id);
    order.push_back(id);
    for (const ValueId user : users[index_of(id)])
      if (--waits_for[index_of(user)] == 0) ready.push_back(user);
  }
  return order;
}

/// Inputs and constants cost no time: they come first, so that orders differ only in work.
void move_given_first(const Graph& graph, Order& order) {
  std::stable_partition(order.begin(), order.end(),
                        [&](ValueId id) { return is_given(graph[id]); });
}

/// Per command: the readers of its results, through views too (and the views themselves).
std::vector<std::vector<ValueId>> find_readers(const Graph& graph, const BufferAliases& aliases) {
  std::vector<std::vector<ValueId>> readers(graph.nodes.size());
  for (ValueId id = 0; id < graph.size(); ++id)
    if (graph[id].op != Op::kGroupResult)
      for (const ValueId operand : graph[id].operands)
        readers[index_of(group_of(graph, aliases.owner[index_of(operand)]))].push_back(id);
  return readers;
}

/// Moves the command that makes the next value of an input after all other readers of the input, so
/// that it can be written into the input's memory; not if a reader needs the new value.
void delay_updates(const Graph& graph, Order& order) {
  if (graph.updates.empty()) return;
  const BufferAliases aliases(graph);
  const auto readers = find_readers(graph, aliases);
  std::vector<std::size_t> position(graph.nodes.size());
  const auto find_positions = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) position[index_of(order[i])] = i;
  };
  find_positions(0, order.size());
  for (const Update& update : graph.updates) {
    const ValueId value = graph.outputs[index_of(update.output)];
    if (is_given(graph[value]) || aliases.is_view(value)) continue;  // no command writes it
    const ValueId next = group_of(graph, value);
    const std::size_t from = position[index_of(next)];
    std::size_t last = from;
    for (const ValueId reader : readers[index_of(graph.inputs[index_of(update.input)])])
      last = std::max(last, position[index_of(reader)]);
    const bool needed =
        std::any_of(readers[index_of(next)].begin(), readers[index_of(next)].end(),
                    [&](ValueId reader) { return position[index_of(reader)] <= last; });
    if (needed || last == from) continue;
    const auto at = [&](std::size_t i) { return order.begin() + static_cast<std::ptrdiff_t>(i); };
    std::rotate(at(from), at(from + 1), at(last + 1));
    find_positions(from, last + 1);
  }
}

}  // namespace

std::int64_t peak_of_order(const Graph& graph) {
  Order order;
  for (ValueId id = 0; id < graph.size(); ++id)
    if (graph[id].op != Op::kGroupResult) order.push_back(id);
  return peak_of(graph, order);
}

Graph schedule(Graph graph, const Target& target) {
  (void)target;
  constexpr std::size_t kMaxGreedyNodes = 20000;
  Order best = TracedOrder(graph).take();
  if (graph.nodes.size() <= kMaxGreedyNodes) {
    Order greedy = greedy_order(graph);
    if (peak_of(graph, greedy) < peak_of(graph, best)) best = std::move(greedy);
  }
  move_given_first(graph, best);
  delay_updates(graph, best);
  Rewriter rewriter(graph);
  for (const ValueId id : best)
    for (std::size_t k = 0; k < result_count(graph[id]); ++k)
      rewriter.copy(id + static_cast<ValueId>(k));
  return rewriter.finish();
}

}  // namespace lockstep
