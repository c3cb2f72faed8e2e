#include "core/passes/memory_plan.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "core/base/error.h"
#include "core/passes/pack_intervals.h"

namespace lockstep {
namespace {

std::size_t at(ValueId id) {
  return static_cast<std::size_t>(id);
}

std::int64_t bytes_of(const Node& node) {
  return static_cast<std::int64_t>(node.type.bytes());
}

/// Runs no command: its bytes exist before the program starts.
bool is_given(const Node& node) {
  return node.op == Op::kInput || node.op == Op::kConstant;
}

/// Where in its operand a slice starts, in elements, if its elements lie side by side: one index of
/// the dimensions before some dimension, a run of that one, all of those behind it.
std::optional<std::int64_t> contiguous_start(const Node& slice, const Shape& operand) {
  const auto& starts = slice.attrs.ints(Attr::kStart);
  const auto& steps = slice.attrs.ints(Attr::kStride);
  const std::vector<std::int64_t> strides = operand.strides();
  if (slice.type.elements() == 0) return 0;  // its start may lie beyond the operand
  std::int64_t start = 0;
  bool narrowed = false;  // whether a dimension before this one has more than one index
  for (int d = 0; d < operand.rank(); ++d) {
    const auto i = static_cast<std::size_t>(d);
    const std::int64_t size = slice.type.shape[d];
    if (size > 1 && steps[i] != 1) return std::nullopt;
    if (narrowed && size != operand[d]) return std::nullopt;
    narrowed = narrowed || size > 1;
    start += starts[i] * strides[i];
  }
  return start;
}

/// The value whose memory a value lies in (itself, unless it is a view) and where.
struct Root {
  ValueId value = kNoValue;
  std::int64_t offset = 0;
};

/// A place of its own in the arena, shared by values that are computed in place one after the
/// other.
struct Storage {
  Lifetime lifetime;
  std::vector<ValueId> values;  ///< by birth; a scratch area holds that of its one node
  bool scratch = false;
};

class Planner {
 public:
  Planner(const Graph& graph, const MemoryQuery& query) : graph_(graph), query_(query) {}

  MemoryPlan run() {
    const std::size_t n = graph_.nodes.size();
    plan_.values.resize(n);
    plan_.is_view.resize(n, false);
    plan_.scratch.resize(n);
    find_views();
    find_owned_outputs();
    find_last_uses();
    donate_inputs();
    place_given();
    place_outputs();
    assign_storage();
    place_storage();
    place_views();
    measure();
    return std::move(plan_);
  }

 private:
  void find_views() {
    for (ValueId id = 0; id < graph_.size(); ++id) {
      roots_.push_back({id, 0});
      const Node& node = graph_[id];
      if (node.op != Op::kReshape && node.op != Op::kSlice) continue;
      const Node& operand = graph_[node.operands[0]];
      Root root = roots_[at(node.operands[0])];
      if (node.op == Op::kSlice) {
        const auto start = contiguous_start(node, operand.type.shape);
        if (!start) continue;
        root.offset += *start * static_cast<std::int64_t>(size_of(node.type.dtype));
        if (root.offset % kArenaAlignment != 0) continue;
      }
      roots_[at(id)] = root;
      plan_.is_view[at(id)] = true;
    }
  }

  /// Values that commands compute get the first output they are; all else is copied.
  void find_owned_outputs() {
    output_of_.assign(graph_.nodes.size(), -1);
    for (std::size_t o = 0; o < graph_.outputs.size(); ++o) {
      const ValueId value = graph_.outputs[o];
      const auto output = static_cast<std::int32_t>(o);
      const bool owned =
          !is_given(graph_[value]) && !plan_.is_view[at(value)] && output_of_[at(value)] < 0;
      if (owned) {
        output_of_[at(value)] = output;
      } else {
        plan_.copied_outputs.push_back(output);
      }
    }
  }

  /// Step i runs node i; the copies of outputs come last.
  void find_last_uses() {
    last_use_.resize(graph_.nodes.size());
    for (ValueId id = 0; id < graph_.size(); ++id) {
      last_use_[at(id)] = id;
      if (plan_.is_view[at(id)]) continue;
      for (const ValueId operand : graph_[id].operands)
        last_use_[at(roots_[at(operand)].value)] = id;
    }
    for (const std::int32_t output : plan_.copied_outputs)
      last_use_[at(root_of_output(output).value)] = graph_.size();
  }
  Root root_of_output(std::int32_t output) const {
    return roots_[at(graph_.outputs[static_cast<std::size_t>(output)])];
  }

  /// Whether the result of `id` may be written over `value`, whose last reader it is if it reads it
  /// at all.
  bool may_overwrite(ValueId id, ValueId value) const {
    const Node& node = graph_[id];
    if (last_use_[at(value)] > id || bytes_of(node) != bytes_of(graph_[value])) return false;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      const ValueId operand = node.operands[i];
      if (roots_[at(operand)].value != value) continue;
      // An operand that is a part of the value is not read in step with the result.
      const bool whole = bytes_of(graph_[operand]) == bytes_of(node);
      if (!whole || !query_.may_alias(id, i)) return false;
    }
    return true;
  }

  void donate_inputs() {
    plan_.donated_inputs.assign(graph_.outputs.size(), -1);
    std::vector<bool> given_away(graph_.inputs.size(), false);
    for (const Update& update : graph_.updates) {
      const auto o = static_cast<std::size_t>(update.output);
      const auto j = static_cast<std::size_t>(update.input);
      const ValueId value = graph_.outputs[o];
      if (output_of_[at(value)] != update.output || given_away[j] ||
          !may_overwrite(value, graph_.inputs[j]))
        continue;
      plan_.donated_inputs[o] = update.input;
      given_away[j] = true;
    }
  }

  void place_given() {
    for (std::size_t j = 0; j < graph_.inputs.size(); ++j) {
      const ValueId id = graph_.inputs[j];
      plan_.values[at(id)] = {SlotKind::kInput, static_cast<std::int32_t>(j), 0,
                              bytes_of(graph_[id])};
    }
    for (ValueId id = 0; id < graph_.size(); ++id) {
      if (graph_[id].op != Op::kConstant) continue;
      plan_.values[at(id)] = {SlotKind::kConstant, 0, plan_.constant_bytes, bytes_of(graph_[id])};
      plan_.constant_bytes +=
          (bytes_of(graph_[id]) + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
    }
  }

  void place_outputs() {
    for (ValueId id = 0; id < graph_.size(); ++id)
      if (output_of_[at(id)] >= 0)
        plan_.values[at(id)] = {SlotKind::kOutput, output_of_[at(id)], 0, bytes_of(graph_[id])};
  }

  void assign_storage() {
    storage_of_.assign(graph_.nodes.size(), -1);
    for (ValueId id = 0; id < graph_.size(); ++id) {
      if (is_given(graph_[id]) || plan_.is_view[at(id)]) continue;
      if (const std::int64_t bytes = query_.scratch_bytes(id); bytes > 0)
        storage_.push_back({{id, id, bytes}, {id}, true});
      if (output_of_[at(id)] >= 0) continue;
      std::int32_t& storage = storage_of_[at(id)];
      storage = storage_to_reuse(id);
      if (storage < 0) {
        storage = static_cast<std::int32_t>(storage_.size());
        storage_.push_back({{id, id, bytes_of(graph_[id])}, {}, false});
      }
      Storage& own = storage_[static_cast<std::size_t>(storage)];
      own.values.push_back(id);
      own.lifetime.end = last_use_[at(id)];
    }
  }

  /// The storage of an operand that dies here and may be overwritten, or -1.
  std::int32_t storage_to_reuse(ValueId id) const {
    for (const ValueId operand : graph_[id].operands) {
      const ValueId root = roots_[at(operand)].value;
      if (storage_of_[at(root)] >= 0 && may_overwrite(id, root)) return storage_of_[at(root)];
    }
    return -1;
  }

  void place_storage() {
    std::vector<Lifetime> lifetimes;
    lifetimes.reserve(storage_.size());
    for (const Storage& storage : storage_) lifetimes.push_back(storage.lifetime);
    const Packing packing = pack_intervals(lifetimes);
    plan_.arena_bytes = packing.bytes;
    for (std::size_t s = 0; s < storage_.size(); ++s) {
      const Slot slot{SlotKind::kArena, 0, packing.offsets[s], lifetimes[s].bytes};
      for (const ValueId id : storage_[s].values)
        (storage_[s].scratch ? plan_.scratch : plan_.values)[at(id)] = slot;
    }
    peak_live_bytes(lifetimes, &peak_step_);
  }

  void place_views() {
    for (ValueId id = 0; id < graph_.size(); ++id) {
      if (!plan_.is_view[at(id)]) continue;
      Slot slot = plan_.values[at(roots_[at(id)].value)];
      slot.offset += roots_[at(id)].offset;
      slot.bytes = bytes_of(graph_[id]);
      plan_.values[at(id)] = slot;
    }
  }

  void measure() {
    plan_.peak_bytes = plan_.arena_bytes;
    for (std::size_t o = 0; o < graph_.outputs.size(); ++o) {
      const Node& node = graph_[graph_.outputs[o]];
      if (plan_.donated_inputs[o] >= 0) continue;
      plan_.peak_bytes += bytes_of(node);
      plan_.largest.push_back({bytes_of(node), node.type, node.origin});
    }
    for (const Storage& storage : storage_) {
      if (storage.lifetime.begin > peak_step_ || storage.lifetime.end < peak_step_) continue;
      const Node& node = graph_[holder_at_peak(storage)];
      const Type scratch{DType::kU8, Shape({Dim(storage.lifetime.bytes)})};
      plan_.largest.push_back(
          {storage.lifetime.bytes, storage.scratch ? scratch : node.type, node.origin});
    }
    std::stable_sort(plan_.largest.begin(), plan_.largest.end(),
                     [](const LargeValue& a, const LargeValue& b) { return a.bytes > b.bytes; });
    if (plan_.largest.size() > kLargest) plan_.largest.resize(kLargest);
  }
  ValueId holder_at_peak(const Storage& storage) const {
    ValueId holder = storage.values[0];
    for (const ValueId id : storage.values)
      if (id <= peak_step_) holder = id;
    return holder;
  }
  static constexpr std::size_t kLargest = 10;

  const Graph& graph_;
  const MemoryQuery& query_;
  MemoryPlan plan_;
  std::vector<Root> roots_;
  std::vector<std::int32_t> output_of_;  ///< the output whose slot a value has, or -1
  std::vector<std::int32_t> last_use_;   ///< of roots: the last step that reads it or a view of it
  std::vector<Storage> storage_;
  std::vector<std::int32_t> storage_of_;  ///< -1: not in the arena
  std::int32_t peak_step_ = 0;
};

}  // namespace

MemoryPlan plan_memory(const Graph& scheduled, const MemoryQuery& query) {
  return Planner(scheduled, query).run();
}

}  // namespace lockstep
