#include "core/ir/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/ir/text.h"
#include "core/ir/type_list.h"

namespace lockstep {
namespace {

constexpr std::array<std::string_view, 8> kRoles = {"operand", "constant", "full",   "row",
                                                    "column",  "total",    "joined", "scalar"};

Shape part(const Shape& shape, int begin, int end) {
  Shape out;
  for (int i = begin; i < end; ++i) out.push_back(shape.dim(i));
  return out;
}

/// Whether `dims` are begin, begin + 1, ..., end - 1.
bool is_range(IntView dims, int begin, int end) {
  if (static_cast<int>(dims.size()) != end - begin) return false;
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != begin + static_cast<std::int64_t>(i)) return false;
  return true;
}

class Analyzer {
 public:
  explicit Analyzer(const Node& fusion) : body_(*fusion.body) {
    group_.domain = Shape(fusion.attrs.ints(Attr::kShape));
    const std::int64_t axis = fusion.attrs.integer(Attr::kAxis);
    if (axis < 0 || axis > group_.domain.rank()) {
      error_ =
          fmt::format("axis {} does not divide the domain {}", axis, group_.domain.to_string());
      return;
    }
    group_.axis = static_cast<int>(axis);
    rows_ = group_.rows();
    for (ValueId id = 0; id < body_.size() && error_.empty(); ++id) visit(id);
    check_outputs();
  }

  const std::string& error() const { return error_; }
  GroupAnalysis take() { return std::move(group_); }

 private:
  int rank() const { return group_.domain.rank(); }
  GroupRole role(ValueId id) const { return group_.roles[static_cast<std::size_t>(id)]; }

  void fail(ValueId id, std::string_view what) {
    if (error_.empty()) error_ = fmt::format("{}: {}", what, print_node(body_, id));
  }

  void visit(ValueId id) {
    const Node& node = body_[id];
    if (node.type.dtype == DType::kF64) fail(id, "no f64 in groups");
    for (const ValueId operand : node.operands) {
      if (role(operand) == GroupRole::kColumn || role(operand) == GroupRole::kTotal)
        fail(id, "a sum over rows is an output only");
      if (role(operand) == GroupRole::kJoined) fail(id, "a concatenation is an output only");
    }
    group_.roles.push_back(error_.empty() ? find_role(id) : GroupRole::kOperand);
  }

  GroupRole find_role(ValueId id) {
    const Node& node = body_[id];
    if (is_elementwise(node.op)) return elementwise(id);
    const OpClass op_class = info_of(node.op).op_class;
    if (op_class == OpClass::kReduction) return reduction(id);
    if (op_class == OpClass::kLeaf) return leaf(id);
    if (node.op == Op::kBroadcast) return broadcast(id);
    if (node.op == Op::kSlice) return slice(id);
    if (node.op == Op::kConcatenate) return concatenation(id);
    fail(id, "this op cannot stand in a group");
    return GroupRole::kOperand;
  }

  GroupRole leaf(ValueId id) {
    const Node& node = body_[id];
    if (node.op == Op::kInput) return GroupRole::kOperand;
    if (node.op == Op::kConstant) {
      if (node.type.shape.rank() != 0) fail(id, "a constant of a group is a scalar");
      return GroupRole::kConstant;
    }
    if (node.op != Op::kIota && node.op != Op::kRandomBits)
      fail(id, "this op cannot stand in a group");
    for (const ValueId key : node.operands)
      if (role(key) != GroupRole::kOperand && role(key) != GroupRole::kConstant)
        fail(id, "a key is an operand or a constant");
    return full_or_row(id);
  }

  /// The role in which members read a value of this shape.
  GroupRole role_of_shape(const Shape& shape) const {
    if (shape == group_.domain) return GroupRole::kFull;
    if (shape == rows_) return GroupRole::kRow;
    return shape.rank() == 0 ? GroupRole::kScalar : GroupRole::kOperand;
  }
  /// The role as which a member reads the value; kOperand if it has none.
  GroupRole role_read(ValueId id) const {
    const GroupRole own = role(id);
    const bool by_shape = own == GroupRole::kOperand || own == GroupRole::kConstant;
    return by_shape ? role_of_shape(body_[id].type.shape) : own;
  }

  GroupRole full_or_row(ValueId id) {
    const GroupRole out = role_of_shape(body_[id].type.shape);
    if (out != GroupRole::kFull && out != GroupRole::kRow)
      fail(id, "the shape is neither the domain's nor that of its rows");
    return out;
  }

  GroupRole elementwise(ValueId id) {
    const GroupRole out = role_of_shape(body_[id].type.shape);
    if (out == GroupRole::kOperand) fail(id, "the shape does not fit the domain");
    for (const ValueId operand : body_[id].operands)
      if (role_read(operand) != out) fail(id, "an operand has another role than the result");
    return out;
  }

  GroupRole broadcast(ValueId id) {
    const Node& node = body_[id];
    const ValueId from = node.operands[0];
    const GroupRole out = full_or_row(id);
    switch (role(from)) {
      case GroupRole::kOperand:
      case GroupRole::kConstant:
      case GroupRole::kScalar: return out;
      case GroupRole::kRow:
        if (out != GroupRole::kFull || !is_range(node.attrs.ints(Attr::kDims), 0, group_.axis))
          fail(id, "a row value is broadcast along its row only");
        return out;
      case GroupRole::kFull:
      case GroupRole::kColumn:
      case GroupRole::kTotal:
      case GroupRole::kJoined: break;
    }
    // A domain of rank 0 has full scalars.
    if (body_[from].type.shape.rank() != 0) fail(id, "a full value cannot be broadcast");
    return out;
  }

  GroupRole slice(ValueId id) {
    const Node& node = body_[id];
    if (role(node.operands[0]) != GroupRole::kOperand) fail(id, "only operands are sliced");
    for (const std::int64_t stride : node.attrs.ints(Attr::kStride))
      if (stride != 1) fail(id, "a slice of a group has no gaps");
    return full_or_row(id);
  }

  GroupRole concatenation(ValueId id) {
    if (group_.axis != rank()) fail(id, "a group with rows concatenates nothing");
    for (const ValueId part : body_[id].operands)
      if (role_read(part) != GroupRole::kFull) fail(id, "only full values are concatenated");
    return GroupRole::kJoined;
  }

  GroupRole reduction(ValueId id) {
    const Node& node = body_[id];
    const GroupRole from = role_read(node.operands[0]);
    const bool arg = node.op == Op::kArgMax || node.op == Op::kArgMin;
    const auto dims = node.attrs.ints(arg ? Attr::kAxis : Attr::kDims);
    const bool full = from == GroupRole::kFull;
    if (dims.empty()) fail(id, "a reduction over nothing");
    if (full && is_range(dims, group_.axis, rank())) return GroupRole::kRow;
    if (node.op != Op::kReduceSum) fail(id, "only sums go over rows");
    if (full && is_range(dims, 0, group_.axis) && group_.axis < rank()) return GroupRole::kColumn;
    const bool row = from == GroupRole::kRow && is_range(dims, 0, group_.axis);
    if (!row && !(full && is_range(dims, 0, rank())))
      fail(id, "the reduction goes over neither rows nor columns nor all");
    return GroupRole::kTotal;
  }

  void check_outputs() {
    if (!error_.empty()) return;
    if (body_.outputs.empty()) error_ = "the body returns nothing";
    for (std::size_t i = 0; i < body_.outputs.size() && error_.empty(); ++i) {
      const ValueId id = body_.outputs[i];
      if (role(id) == GroupRole::kOperand || role(id) == GroupRole::kConstant)
        fail(id, "an output is no member");
      if (std::count(body_.outputs.begin(), body_.outputs.end(), id) > 1)
        fail(id, "a member is returned twice");
    }
  }

  const Graph& body_;
  GroupAnalysis group_;
  Shape rows_;
  std::string error_;
};

}  // namespace

std::string_view name_of(GroupRole role) {
  return kRoles[static_cast<std::size_t>(role)];
}

Shape GroupAnalysis::rows() const {
  return part(domain, 0, axis);
}

Shape GroupAnalysis::columns() const {
  return part(domain, axis, domain.rank());
}

std::string find_group_error(const Node& fusion) {
  return Analyzer(fusion).error();
}

GroupAnalysis analyze_group(const Node& fusion) {
  LS_CHECK(fusion.op == Op::kFusion && fusion.body != nullptr, "{} is no group",
           name_of(fusion.op));
  Analyzer analyzer(fusion);
  LS_CHECK(analyzer.error().empty(), "a group breaks its contract: {}", analyzer.error());
  return analyzer.take();
}

std::size_t result_count(const Node& node) {
  if (node.op == Op::kFusion) return node.body->outputs.size();
  return node.op == Op::kHostCall ? count_types(node.attrs.ints(Attr::kResults)) : 1;
}

Type result_type(const Node& node, std::size_t k) {
  if (node.op == Op::kFusion) return (*node.body)[node.body->outputs[k]].type;
  return k == 0 ? node.type : read_type_list(node.attrs.ints(Attr::kResults))[k];
}

std::string find_result_error(const Graph& graph, ValueId id) {
  const Node& node = graph[id];
  for (std::size_t k = 1; k < result_count(node); ++k) {
    const ValueId at = id + static_cast<ValueId>(k);
    const bool follows = at < graph.size() && graph[at].op == Op::kGroupResult &&
                         graph[at].operands == Operands{id} && result_index(graph, at) == k;
    if (!follows) return fmt::format("result {} does not follow its group", k);
  }
  if (node.op != Op::kGroupResult) return "";
  if (node.operands.size() != 1) return "group_result takes one group";
  const ValueId group = node.operands[0];
  const std::int64_t index = node.attrs.integer(Attr::kIndex);
  const Op op = graph[group].op;
  if (op != Op::kFusion && op != Op::kHostCall) return "the operand is no group";
  if (index < 1 || index >= static_cast<std::int64_t>(result_count(graph[group])))
    return fmt::format("the group has no further result {}", index);
  if (id - group != index) return "it does not stand in its place after the group";
  const Type type = result_type(graph[group], static_cast<std::size_t>(index));
  if (type != node.type) return fmt::format("the group returns {}", type.to_string());
  return "";
}

}  // namespace lockstep
