#include "core/ir/verify.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/ir/group.h"
#include "core/ir/infer.h"
#include "core/ir/signature.h"
#include "core/ir/text.h"

namespace lockstep {
namespace {

struct Verifier {
  const Graph& graph;
  std::string_view after;

  [[noreturn]] void fail(std::string_view rule, const std::string& what) const {
    raise(ErrorKind::kInternal, "the graph after '{}' breaks the rule '{}': {}", after, rule, what);
  }
  void check(bool ok, ValueId id, std::string_view rule, std::string_view what) const {
    if (!ok) fail(rule, fmt::format("{}\n  {}", what, print_node(graph, id)));
  }
  bool exists(ValueId id) const { return id >= 0 && id < graph.size(); }

  void node(ValueId id) const {
    const Node& node = graph[id];
    for (const ValueId operand : node.operands)
      check(operand >= 0 && operand < id, id, "order", "an operand does not come before the node");
    const std::string wrong = check_attrs(node.op, node.attrs);
    check(wrong.empty(), id, "attributes", wrong);
    check_literal(id);
    check_body(id);
    check_type(id);
    check_results(id);
  }

  void check_literal(ValueId id) const {
    const Node& node = graph[id];
    if (node.op != Op::kConstant) {
      check(node.literal.empty(), id, "literal", "only a constant has a literal");
      return;
    }
    check(!node.literal.empty(), id, "literal", "the constant has no literal");
    check(node.literal.dtype() == node.type.dtype && node.literal.shape() == node.type.shape, id,
          "literal", "the literal is not of the constant's type");
  }

  void check_body(ValueId id) const {
    const Node& node = graph[id];
    if (node.op != Op::kCall && node.op != Op::kFusion) {
      check(node.body == nullptr, id, "body", "only calls and fusions have a body");
      return;
    }
    check(node.body != nullptr, id, "body", "the body is missing");
    const Graph& body = *node.body;
    verify(body, fmt::format("{}' in the body of '{}", after, print_node(graph, id)));
    check(body.outputs.size() == 1 || (node.op == Op::kFusion && !body.outputs.empty()), id, "body",
          "the body must return one value");
    check(body.updates.empty(), id, "body", "the body must not update");
    check(body[body.outputs[0]].type == node.type, id, "body",
          "the body returns another type than the node's");
    check(body.inputs.size() == node.operands.size(), id, "body",
          "the body must have an input for each operand");
    for (std::size_t i = 0; i < body.inputs.size(); ++i)
      check(body[body.inputs[i]].type == graph[node.operands[i]].type, id, "body",
            fmt::format("input {} of the body has another type than the operand", i));
    if (node.op != Op::kFusion) return;
    const std::string wrong = find_group_error(node);
    check(wrong.empty(), id, "group", wrong);
  }

  void check_results(ValueId id) const {
    const std::string wrong = find_result_error(graph, id);
    check(wrong.empty(), id, "group", wrong);
  }

  void check_type(ValueId id) const {
    const Node& node = graph[id];
    if (node.op == Op::kInput || node.op == Op::kConstant) {
      check(node.operands.empty(), id, "type", "the node takes no operands");
      return;
    }
    if (node.body != nullptr || node.op == Op::kGroupResult) return;
    std::vector<Type> types;
    types.reserve(node.operands.size());
    for (const ValueId operand : node.operands) types.push_back(graph[operand].type);
    try {
      const Type inferred = infer_type(node.op, types, node.attrs);
      check(inferred == node.type, id, "type",
            fmt::format("the type should be {}", inferred.to_string()));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUsage) throw;
      check(false, id, "type", error.what());
    }
  }

  void check_inputs() const {
    std::vector<bool> listed(graph.nodes.size(), false);
    for (const ValueId id : graph.inputs) {
      if (!exists(id)) fail("inputs", fmt::format("input %{} does not exist", id));
      check(graph[id].op == Op::kInput, id, "inputs", "a listed input is no input node");
      check(!listed[static_cast<std::size_t>(id)], id, "inputs", "an input is listed twice");
      listed[static_cast<std::size_t>(id)] = true;
    }
    for (ValueId id = 0; id < graph.size(); ++id)
      check(graph[id].op != Op::kInput || listed[static_cast<std::size_t>(id)], id, "inputs",
            "an input node is not listed");
  }

  void check_outputs() const {
    for (const ValueId id : graph.outputs)
      if (!exists(id)) fail("outputs", fmt::format("output %{} does not exist", id));
  }

  void check_updates() const {
    std::vector<bool> from(graph.outputs.size(), false);
    std::vector<bool> to(graph.inputs.size(), false);
    for (const Update& update : graph.updates) {
      const auto output = static_cast<std::size_t>(update.output);
      const auto input = static_cast<std::size_t>(update.input);
      const std::string text = fmt::format("update {} -> input {}", update.output, update.input);
      if (update.output < 0 || output >= from.size() || update.input < 0 || input >= to.size())
        fail("updates", text + " names no output or no input");
      if (from[output] || to[input]) fail("updates", text + " names an output or input again");
      from[output] = true;
      to[input] = true;
      if (graph[graph.outputs[output]].type != graph[graph.inputs[input]].type)
        fail("updates", text + " joins different types");
    }
  }
};

}  // namespace

void verify(const Graph& graph, std::string_view after) {
  const Verifier verifier{graph, after};
  for (ValueId id = 0; id < graph.size(); ++id) verifier.node(id);
  verifier.check_inputs();
  verifier.check_outputs();
  verifier.check_updates();
}

}  // namespace lockstep
