#include "core/passes/split_step.h"

#include <algorithm>

#include "core/base/error.h"

namespace lockstep {
namespace {

struct Dependence {
  std::vector<bool> sharded;  ///< depends on a batch input, with no all_reduce on the way
  std::vector<bool> reduced;  ///< depends on an all_reduce
};

Dependence find_dependence(const Graph& step) {
  Dependence out;
  for (const Node& node : step.nodes) {
    bool sharded = node.op == Op::kInput && node.input_kind == InputKind::kBatch;
    bool reduced = false;
    for (const ValueId operand : node.operands) {
      sharded = sharded || out.sharded[static_cast<std::size_t>(operand)];
      reduced = reduced || out.reduced[static_cast<std::size_t>(operand)];
    }
    if (node.op == Op::kAllReduce) {
      LS_USER_CHECK(!reduced,
                    "{}: all_reduce of {}, which was already summed over the shards: reduce every "
                    "value once",
                    node.origin.to_string(), node.type.to_string());
      sharded = false;
      reduced = true;
    }
    LS_USER_CHECK(!sharded || !reduced,
                  "{}: {} mixes a value of one shard with a value summed over all shards; "
                  "all_reduce the first",
                  node.origin.to_string(), name_of(node.op));
    out.sharded.push_back(sharded);
    out.reduced.push_back(reduced);
  }
  return out;
}

/// Numbers of `graph.inputs` by value.
std::vector<std::int32_t> input_numbers(const Graph& graph) {
  std::vector<std::int32_t> out(graph.nodes.size(), -1);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    out[static_cast<std::size_t>(graph.inputs[i])] = static_cast<std::int32_t>(i);
  return out;
}

/// Copies the ancestors of `graph.outputs`, and tells which step input each remaining input is.
Graph extract(Graph graph, const Graph& step, std::vector<std::int32_t>& inputs) {
  const std::vector<bool> keep = find_reachable(graph);
  for (std::size_t i = 0; i < step.inputs.size(); ++i)
    if (keep[static_cast<std::size_t>(step.inputs[i])])
      inputs.push_back(static_cast<std::int32_t>(i));
  return keep_only(graph, keep);
}

/// The step with every all_reduce replaced by an input; the new inputs follow the step's own.
Graph cut_reduced(const Graph& step) {
  Graph out;
  out.strings = step.strings;
  out.nodes = step.nodes;
  out.inputs = step.inputs;
  int number = 0;
  for (std::size_t i = 0; i < out.nodes.size(); ++i) {
    Node& node = out.nodes[i];
    if (node.op != Op::kAllReduce) continue;
    node.op = Op::kInput;
    node.operands.clear();
    node.input_kind = InputKind::kState;
    node.name = out.strings->intern(fmt::format("reduced.{}", number++));
    out.inputs.push_back(static_cast<ValueId>(i));
  }
  return out;
}

}  // namespace

SplitStep split_step(const Graph& step) {
  const Dependence depends = find_dependence(step);
  SplitStep out;
  Graph shard = step;
  shard.outputs.clear();
  shard.updates.clear();
  std::vector<ValueId> reduced_values;
  for (ValueId id = 0; id < step.size(); ++id) {
    if (step[id].op != Op::kAllReduce) continue;
    shard.outputs.push_back(step[id].operands[0]);
    reduced_values.push_back(id);
    out.reduced.push_back(step[id].type);
  }
  Graph update = cut_reduced(step);
  std::vector<std::int32_t> update_output(step.outputs.size(), -1);
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    const ValueId value = step.outputs[i];
    if (depends.sharded[static_cast<std::size_t>(value)]) {
      shard.outputs.push_back(value);
      out.shard_outputs.push_back(static_cast<std::int32_t>(i));
    } else {
      update_output[i] = static_cast<std::int32_t>(update.outputs.size());
      update.outputs.push_back(value);
      out.update_outputs.push_back(static_cast<std::int32_t>(i));
    }
  }
  for (const Update& u : step.updates) {
    const std::int32_t output = update_output[static_cast<std::size_t>(u.output)];
    LS_USER_CHECK(output >= 0,
                  "{}: a variable is assigned a value of one shard; all_reduce it first",
                  step[step.outputs[static_cast<std::size_t>(u.output)]].origin.to_string());
    update.updates.push_back({output, u.input});
  }
  out.shard = extract(std::move(shard), step, out.shard_inputs);

  const std::vector<std::int32_t> numbers = input_numbers(step);
  const std::vector<bool> keep = find_reachable(update);
  for (const ValueId input : update.inputs) {
    if (!keep[static_cast<std::size_t>(input)]) continue;
    const auto found = std::find(reduced_values.begin(), reduced_values.end(), input);
    UpdateInput from;
    if (found == reduced_values.end()) {
      from.step_input = numbers[static_cast<std::size_t>(input)];
    } else {
      from.reduced = static_cast<std::int32_t>(found - reduced_values.begin());
    }
    out.update_inputs.push_back(from);
  }
  out.update = keep_only(update, keep);
  return out;
}

}  // namespace lockstep
