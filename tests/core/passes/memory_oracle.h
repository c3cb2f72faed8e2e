// An executable proof of a memory plan: runs it on memory in which every byte records the value and
// the byte of it that it holds.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/ir/group.h"
#include "core/passes/memory_plan.h"
#include "tests/core/passes/recorded_memory.h"

namespace lockstep::testing {

/// Throws std::logic_error if a command does not find its operands, writes to memory that is not
/// its own, or if an output does not end as its value.
class MemoryOracle {
 public:
  MemoryOracle(const Graph& graph, const MemoryPlan& plan, const MemoryQuery& query)
      : graph_(graph), plan_(plan), query_(query) {}

  void run() {
    for (ValueId id = 0; id < graph_.size(); ++id)
      if (is_given(id)) write(id, slot(id));
    for (ValueId id = 0; id < graph_.size(); ++id) run_node(id);
    if (query_.bundles != nullptr) check_bundles(*query_.bundles);
    for (const std::int32_t o : plan_.copied_outputs) {
      expect(output(o), slot(output(o)));
      write(output(o), own_memory(o));
    }
    for (std::size_t o = 0; o < graph_.outputs.size(); ++o)
      expect(graph_.outputs[o], own_memory(static_cast<std::int32_t>(o)));
  }

 private:
  using Area = std::pair<SlotKind, std::int32_t>;

  static void require(bool ok, const std::string& what) {
    if (!ok) throw std::logic_error(what);
  }
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  const Slot& slot(ValueId id) const { return plan_.values[at(id)]; }
  ValueId output(std::int32_t o) const { return graph_.outputs[at(o)]; }
  Slot own_memory(std::int32_t o) const { return {SlotKind::kOutput, o, 0, bytes(output(o))}; }
  std::int64_t bytes(ValueId id) const {
    return static_cast<std::int64_t>(graph_[id].type.bytes());
  }
  bool is_given(ValueId id) const {
    return graph_[id].op == Op::kInput || graph_[id].op == Op::kConstant;
  }

  Area area(const Slot& slot) const {
    if (slot.kind != SlotKind::kOutput) return {slot.kind, slot.index};
    const std::int32_t input = plan_.donated_inputs[at(slot.index)];
    return input >= 0 ? Area{SlotKind::kInput, input} : Area{slot.kind, slot.index};
  }
  bool overlap(const Slot& a, const Slot& b) const {
    return area(a) == area(b) && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
  }

  /// The element of its operand that corresponds to an element of a slice.
  std::int64_t sliced(const Node& slice, std::int64_t element) const {
    const Shape& from = graph_[slice.operands[0]].type.shape;
    const auto strides = from.strides();
    std::int64_t out = 0;
    for (int d = from.rank(); d-- > 0;) {
      const std::int64_t index = element % slice.type.shape[d];
      element /= slice.type.shape[d];
      out += strides[at(d)] * (slice.attrs.ints(Attr::kStart)[at(d)] +
                               index * slice.attrs.ints(Attr::kStride)[at(d)]);
    }
    return out;
  }
  /// The element of its base value that an element of a view is.
  ValueRun base_of(ValueId id, std::int64_t element, std::int64_t size) const {
    for (; plan_.is_view[at(id)]; id = graph_[id].operands[0])
      if (graph_[id].op == Op::kSlice) element = sliced(graph_[id], element);
    return {id, element * size, size};
  }
  std::vector<ValueRun> meaning(ValueId id) const {
    if (!plan_.is_view[at(id)]) return {{id, 0, bytes(id)}};
    const auto size = static_cast<std::int64_t>(size_of(graph_[id].type.dtype));
    std::vector<ValueRun> out;
    for (std::int64_t element = 0; element * size < bytes(id); ++element) {
      const ValueRun next = base_of(id, element, size);
      if (!out.empty() && out.back().is_continued_by(next)) {
        out.back().bytes += size;
      } else {
        out.push_back(next);
      }
    }
    return out;
  }

  void write(ValueId value, const Slot& to) { memory_[area(to)].write(to.offset, meaning(value)); }
  void expect(ValueId value, const Slot& from) {
    require(memory_[area(from)].holds(from.offset, meaning(value)),
            "value " + std::to_string(value) + " was overwritten or is not where it should be");
  }

  void check_slot(const Slot& slot, std::int64_t size) const {
    require(slot.bytes == size, "a slot has a wrong size");
    require(slot.offset % 64 == 0 && slot.offset >= 0, "a slot is not aligned");
    const std::int64_t end = slot.offset + slot.bytes;
    require(slot.kind != SlotKind::kArena || end <= plan_.arena_bytes, "beyond the arena");
    require(slot.kind != SlotKind::kOutput || end <= bytes(output(slot.index)), "beyond an output");
    require(slot.kind != SlotKind::kConstant || end <= plan_.constant_bytes, "beyond constants");
  }

  void run_node(ValueId id) {
    const Node& node = graph_[id];
    check_slot(slot(id), bytes(id));
    if (is_given(id) || plan_.is_view[at(id)] || node.op == Op::kGroupResult) return;
    const Slot& scratch = plan_.scratch[at(id)];
    check_slot(scratch, query_.scratch_bytes(id));
    const ValueId end = id + static_cast<ValueId>(result_count(node));
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      require(!overlap(slot(node.operands[i]), scratch), "operand and scratch overlap");
      expect(node.operands[i], slot(node.operands[i]));
    }
    for (ValueId result = id; result < end; ++result) {
      require(!overlap(slot(result), scratch), "result and scratch overlap");
      for (ValueId other = id; other < result; ++other)
        require(!overlap(slot(result), slot(other)), "two results overlap");
      for (std::size_t i = 0; i < node.operands.size(); ++i) check_in_place(id, result, i);
    }
    memory_[area(scratch)].write(scratch.offset, {{kNoValue, 0, scratch.bytes}});
    for (ValueId result = id; result < end; ++result) write(result, slot(result));
  }

  /// No other command of a bundle or chain may write or read the output of one of its commands,
  /// except a later one of a chain that takes its result.
  void check_bundles(const CommandBundles& bundles) const {
    for (ValueId id = 0; id < graph_.size(); ++id)
      for (ValueId other = bundles.first[at(id)]; other <= bundles.last[at(id)]; ++other) {
        const bool beside = other != id && bundles.first[at(other)] == bundles.first[at(id)];
        if (!beside || graph_[other].op == Op::kGroupResult) continue;
        for (const Slot& to : written(id)) {
          for (const Slot& also : written(other)) require(!overlap(to, also), "written at once");
          for (const ValueId operand : graph_[other].operands)
            require(!overlap(to, slot(operand)) || (other > id && is_result_of(id, operand)),
                    "written while it is read");
        }
      }
  }
  /// Whether the value is the command's result, or a view of it.
  bool is_result_of(ValueId command, ValueId value) const {
    while (plan_.is_view[at(value)]) value = graph_[value].operands[0];
    return group_of(graph_, value) == command;
  }
  std::vector<Slot> written(ValueId command) const {
    std::vector<Slot> out{plan_.scratch[at(command)]};
    for (std::size_t k = 0; k < result_count(graph_[command]); ++k)
      out.push_back(slot(command + static_cast<ValueId>(k)));
    return out;
  }

  void check_in_place(ValueId command, ValueId result, std::size_t i) const {
    const Slot& operand = slot(graph_[command].operands[i]);
    const Slot& to = slot(result);
    const bool same = operand.offset == to.offset && operand.bytes == to.bytes;
    const auto k = static_cast<std::size_t>(result - command);
    require(!overlap(operand, to) || (same && query_.may_alias(command, k, i)),
            "a result lies on an operand that it may not overwrite");
  }

  const Graph& graph_;
  const MemoryPlan& plan_;
  const MemoryQuery& query_;
  std::map<Area, RecordedMemory> memory_;
};

}  // namespace lockstep::testing
