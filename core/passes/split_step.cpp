#include "core/passes/split_step.h"

#include "core/base/error.h"

namespace lockstep {
namespace {

struct Dependence {
  std::vector<bool> per_micro_batch;  ///< depends on a batch input, with no all_reduce on the way
  std::vector<bool> reduced;          ///< depends on an all_reduce
};

Dependence find_dependence(const Graph& step) {
  Dependence out;
  for (const Node& node : step.nodes) {
    bool per_micro_batch = node.op == Op::kInput && node.input_kind == InputKind::kBatch;
    bool reduced = false;
    for (const ValueId operand : node.operands) {
      per_micro_batch = per_micro_batch || out.per_micro_batch[static_cast<std::size_t>(operand)];
      reduced = reduced || out.reduced[static_cast<std::size_t>(operand)];
    }
    if (is_program_border(node.op)) {
      LS_USER_CHECK(!reduced,
                    "{}: all_reduce of {}, which was already summed over the micro-batches: reduce "
                    "every value once",
                    node.origin.to_string(), node.type.to_string());
      per_micro_batch = false;
      reduced = true;
    }
    LS_USER_CHECK(
        !per_micro_batch || !is_collective(node.op),
        "{}: {} works over ranks and cannot take a value of one micro-batch; all_reduce it first",
        node.origin.to_string(), name_of(node.op));
    LS_USER_CHECK(!per_micro_batch || !reduced,
                  "{}: {} mixes a value of one micro-batch with a value summed over all "
                  "micro-batches; all_reduce the first",
                  node.origin.to_string(), name_of(node.op));
    out.per_micro_batch.push_back(per_micro_batch);
    out.reduced.push_back(reduced);
  }
  return out;
}

/// The live all_reduces, one per operand; `same`, per value, receives the first all_reduce of the
/// same operand for every all_reduce, and the value itself for all others.
std::vector<ValueId> find_reductions(const Graph& step, std::vector<ValueId>& same) {
  const std::vector<bool> live = find_reachable(step);
  std::vector<ValueId> first(step.nodes.size(), kNoValue);  // by operand
  std::vector<ValueId> out;
  for (ValueId id = 0; id < step.size(); ++id) {
    same.push_back(id);
    if (!is_program_border(step[id].op) || !live[static_cast<std::size_t>(id)]) continue;
    ValueId& known = first[static_cast<std::size_t>(step[id].operands[0])];
    if (known == kNoValue) {
      known = id;
      out.push_back(id);
    }
    same.back() = known;
  }
  return out;
}

/// The ancestors of `graph.outputs`; also gives the step input of each remaining input.
Graph extract(Graph graph, const Graph& step, std::vector<std::int32_t>& inputs) {
  const std::vector<bool> keep = find_reachable(graph);
  for (std::size_t i = 0; i < step.inputs.size(); ++i)
    if (keep[static_cast<std::size_t>(step.inputs[i])])
      inputs.push_back(static_cast<std::int32_t>(i));
  return keep_only(std::move(graph), keep);
}

/// The step with its reductions replaced by inputs, which follow the step's own; no outputs yet.
Graph cut_reduced(const Graph& step, const std::vector<ValueId>& reductions,
                  const std::vector<ValueId>& same) {
  Graph out;
  out.strings = step.strings;
  out.nodes = step.nodes;
  out.inputs = step.inputs;
  for (Node& node : out.nodes)
    for (ValueId& operand : node.operands) operand = same[static_cast<std::size_t>(operand)];
  for (std::size_t i = 0; i < reductions.size(); ++i) {
    Node& node = out.nodes[static_cast<std::size_t>(reductions[i])];
    node.op = Op::kInput;
    node.operands.clear();
    node.input_kind = InputKind::kState;
    node.name = out.strings->intern(fmt::format("reduced.{}", i));
    out.inputs.push_back(reductions[i]);
  }
  return out;
}

}  // namespace

SplitStep split_step(const Graph& step) {
  const Dependence depends = find_dependence(step);
  SplitStep out;
  Graph gradient = step;
  gradient.outputs.clear();
  gradient.updates.clear();
  std::vector<ValueId> same;
  const std::vector<ValueId> reductions = find_reductions(step, same);
  for (const ValueId id : reductions) {
    gradient.outputs.push_back(step[id].operands[0]);
    out.reduced.push_back(step[id].type);
  }
  Graph update = cut_reduced(step, reductions, same);
  std::vector<std::int32_t> update_output(step.outputs.size(), -1);
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    const ValueId value = step.outputs[i];
    if (depends.per_micro_batch[static_cast<std::size_t>(value)]) {
      gradient.outputs.push_back(value);
      out.gradient_outputs.push_back(static_cast<std::int32_t>(i));
    } else {
      update_output[i] = static_cast<std::int32_t>(update.outputs.size());
      update.outputs.push_back(same[static_cast<std::size_t>(value)]);
      out.update_outputs.push_back(static_cast<std::int32_t>(i));
    }
  }
  for (const Update& u : step.updates) {
    const std::int32_t output = update_output[static_cast<std::size_t>(u.output)];
    LS_USER_CHECK(output >= 0,
                  "{}: a variable is assigned a value of one micro-batch; all_reduce it first",
                  step[step.outputs[static_cast<std::size_t>(u.output)]].origin.to_string());
    update.updates.push_back({output, u.input});
  }
  out.gradient = extract(std::move(gradient), step, out.gradient_inputs);

  std::vector<bool> keep = find_reachable(update);
  // An input gives its memory to its next value even if that value does not depend on it.
  for (const Update& u : update.updates)
    keep[static_cast<std::size_t>(update.inputs[static_cast<std::size_t>(u.input)])] = true;
  for (std::size_t i = 0; i < update.inputs.size(); ++i) {
    const ValueId input = update.inputs[i];
    if (!keep[static_cast<std::size_t>(input)]) continue;
    const auto reduced =
        static_cast<std::int32_t>(i) - static_cast<std::int32_t>(step.inputs.size());
    UpdateInput from;
    if (reduced < 0) {
      from.step_input = static_cast<std::int32_t>(i);
    } else {
      from.reduced = reduced;
    }
    out.update_inputs.push_back(from);
  }
  out.update = keep_only(std::move(update), keep);
  return out;
}

}  // namespace lockstep
