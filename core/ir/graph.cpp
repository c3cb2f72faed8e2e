#include "core/ir/graph.h"

#include <fmt/format.h>

#include <array>
#include <boost/container/small_vector.hpp>

#include "core/base/error.h"
#include "core/ir/infer.h"

namespace lockstep {
namespace {

constexpr std::array<std::string_view, 4> kInputKinds = {"parameter", "state", "batch", "scalar"};

}  // namespace

std::string Origin::to_string() const {
  std::string out = file.empty() ? "?" : fmt::format("{}:{}", file, line);
  if (!scope.empty()) out += fmt::format(" ({})", scope);
  return out;
}

std::string_view name_of(InputKind kind) {
  return kInputKinds[static_cast<std::size_t>(kind)];
}

std::optional<InputKind> parse_input_kind(std::string_view name) {
  for (std::size_t i = 0; i < kInputKinds.size(); ++i)
    if (kInputKinds[i] == name) return static_cast<InputKind>(i);
  return std::nullopt;
}

std::string_view StringPool::intern(std::string_view text) {
  const auto found = index_.find(text);
  if (found != index_.end()) return *found;
  storage_.emplace_back(text);
  return *index_.insert(storage_.back()).first;
}

ValueId Graph::append(Node node) {
  const ValueId id = size();
  if (node.op == Op::kInput) inputs.push_back(id);
  nodes.push_back(std::move(node));
  return id;
}

// The functions below build their node where it stays: it is large, and a step has many.

ValueId Graph::add(Op op, ArrayRef<ValueId> operands, Attrs attrs, Origin origin) {
  boost::container::small_vector<Type, 4> types;
  for (const ValueId operand : operands) types.push_back((*this)[operand].type);
  const Type type = infer_type(op, {types.data(), types.size()}, attrs);
  (void)Shape(type.shape.sizes());  // refuses what elements() cannot count
  Node& node = nodes.emplace_back();
  node.op = op;
  node.type = type;
  node.operands.assign(operands.begin(), operands.end());
  node.attrs = std::move(attrs);
  node.origin = origin;
  return size() - 1;
}

ValueId Graph::add_input(Type type, InputKind kind, std::string_view name, Origin origin) {
  Node& node = nodes.emplace_back();
  node.op = Op::kInput;
  node.type = type;
  node.input_kind = kind;
  node.name = strings->intern(name);
  node.origin = origin;
  inputs.push_back(size() - 1);
  return size() - 1;
}

ValueId Graph::add_constant(HostTensor literal, Origin origin) {
  Node& node = nodes.emplace_back();
  node.op = Op::kConstant;
  node.type = {literal.dtype(), literal.shape()};
  node.literal = std::move(literal);
  node.origin = origin;
  return size() - 1;
}

std::vector<int> count_users(const Graph& graph) {
  std::vector<int> users(graph.nodes.size(), 0);
  for (const Node& node : graph.nodes)
    for (const ValueId operand : node.operands) ++users[static_cast<std::size_t>(operand)];
  for (const ValueId output : graph.outputs) ++users[static_cast<std::size_t>(output)];
  return users;
}

std::vector<bool> find_reachable(const Graph& graph) {
  std::vector<bool> reachable(graph.nodes.size(), false);
  for (const ValueId output : graph.outputs) reachable[static_cast<std::size_t>(output)] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    if (!reachable[i]) continue;
    for (const ValueId operand : graph.nodes[i].operands)
      reachable[static_cast<std::size_t>(operand)] = true;
  }
  // A group keeps all its results.
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].op == Op::kGroupResult)
      reachable[i] = reachable[static_cast<std::size_t>(graph.nodes[i].operands[0])];
  return reachable;
}

namespace {

void add_dropped(const Graph& graph, const std::vector<bool>& keep, std::vector<DroppedOp>& out) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if ((!keep.empty() && keep[i]) || node.op == Op::kInput) continue;
    if (node.body != nullptr) add_dropped(*node.body, {}, out);
    out.push_back({node.op, node.origin});
  }
}

}  // namespace

std::vector<DroppedOp> dropped_ops(const Graph& graph, const std::vector<bool>& keep) {
  std::vector<DroppedOp> out;
  add_dropped(graph, keep, out);
  return out;
}

Graph keep_only(Graph graph, const std::vector<bool>& keep) {
  std::vector<ValueId> new_id(graph.nodes.size(), kNoValue);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!keep[i]) continue;
    for (ValueId& operand : graph.nodes[i].operands)
      operand = new_id[static_cast<std::size_t>(operand)];
    if (kept != i) graph.nodes[kept] = std::move(graph.nodes[i]);
    new_id[i] = static_cast<ValueId>(kept++);
  }
  graph.nodes.resize(kept);
  // Inputs keep their parameter order, whatever their place among the nodes.
  std::vector<std::int32_t> new_input(graph.inputs.size(), -1);
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const ValueId id = new_id[static_cast<std::size_t>(graph.inputs[i])];
    if (id == kNoValue) continue;
    new_input[i] = static_cast<std::int32_t>(inputs.size());
    inputs.push_back(id);
  }
  graph.inputs = std::move(inputs);
  for (ValueId& output : graph.outputs) output = new_id[static_cast<std::size_t>(output)];
  for (Update& update : graph.updates)
    update.input = new_input[static_cast<std::size_t>(update.input)];
  std::erase_if(graph.updates, [](const Update& update) { return update.input < 0; });
  return graph;
}

}  // namespace lockstep
