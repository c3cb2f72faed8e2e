#include "core/kernels/codegen/group_values.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/base/error.h"

namespace lockstep::codegen {
namespace {

/// For every dimension of a node the domain's dimension it runs along, -1 for one element.
using Placement = std::vector<int>;

Placement leading(int rank) {
  Placement out(static_cast<std::size_t>(rank));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

bool is_reduction(const Node& node) {
  return info_of(node.op).op_class == OpClass::kReduction;
}

/// The dimensions that a reduction removes.
Attrs::Ints reduced_dims(const Node& node) {
  if (node.attrs.has(Attr::kDims)) return node.attrs.copy_ints(Attr::kDims);
  return {node.attrs.integer(Attr::kAxis)};
}

/// Whether dims are exactly first, ..., last - 1.
bool is_range(IntView dims, int first, int last) {
  if (static_cast<int>(dims.size()) != last - first) return false;
  for (const std::int64_t d : dims)
    if (d < first || d >= last) return false;
  return true;
}

class Reader {
 public:
  Reader(const Graph& body, const Shape& domain, int axis)
      : body_(body), domain_(domain), axis_(axis) {}

  GroupValues read() {
    if (axis_ == 0 && only_sums_everything()) axis_ = domain_.rank();
    for (; result_ < static_cast<int>(body_.outputs.size()); ++result_)
      add_output(body_.outputs[static_cast<std::size_t>(result_)]);
    out_.axis = axis_;
    return std::move(out_);
  }

 private:
  bool only_sums_everything() const;
  bool add_sum(ValueId id);
  void add_output(ValueId id);
  void add_parts(const Node& concatenation);
  int evaluate(ValueId id, const Placement& placement);
  int make_value(const Node& node, ValueId id, const Placement& placement);
  void read_leaf(const Node& node, ValueId id, const Placement& placement, Value& value);
  void read_slice(const Node& node, const Placement& placement, Value& value);
  int operand_number(ValueId input) const;
  int add_stream(const Node& random);
  View view_of(const Shape& shape, const Placement& placement) const;
  bool is_full(const Shape& shape) const { return shape == domain_; }

  const Graph& body_;
  const Shape& domain_;
  int axis_;
  int result_ = 0;  ///< the current one
  GroupValues out_;
  std::map<std::pair<ValueId, Placement>, int> known_;
};

/// Whether every reduction is a sum that is an output and nothing else.
bool Reader::only_sums_everything() const {
  const std::vector<bool> reachable = find_reachable(body_);
  for (ValueId id = 0; id < body_.size(); ++id) {
    if (!reachable[static_cast<std::size_t>(id)]) continue;
    const Node& node = body_[id];
    if (is_reduction(node) && node.op != Op::kReduceSum) return false;
    for (const ValueId operand : node.operands)
      if (is_reduction(body_[operand])) return false;
  }
  return true;
}

/// Reads `id` as a sum over the rows or over everything, if it is one.
bool Reader::add_sum(ValueId id) {
  const Node& node = body_[id];
  if (node.op != Op::kReduceSum) return false;
  const Shape& from = body_[node.operands[0]].type.shape;
  const Attrs::Ints dims = reduced_dims(node);
  const bool full = is_full(from);
  Output output;
  output.result = result_;
  output.dtype = node.type.dtype;
  if (is_range(dims, 0, from.rank()) &&
      (full ? axis_ > 0 || from.rank() == 0 : from.rank() == axis_)) {
    output.role = Output::Role::kTotal;
    output.over_columns = full;
    out_.is_free = out_.is_free && full;
  } else if (full && axis_ > 0 && axis_ < from.rank() && is_range(dims, 0, axis_)) {
    output.role = Output::Role::kColumn;
    out_.is_free = false;
  } else {
    return false;
  }
  output.value = evaluate(node.operands[0], leading(from.rank()));
  out_.outputs.push_back(std::move(output));
  return true;
}

void Reader::add_output(ValueId id) {
  if (add_sum(id)) return;
  const Node& node = body_[id];
  if (node.op == Op::kConcatenate) return add_parts(node);
  const Shape& shape = node.type.shape;
  const bool full = is_full(shape);
  LS_CHECK(full || shape.rank() <= axis_,
           "output {} of a group over {} by {} is neither full nor a row", node.type.to_string(),
           domain_.to_string(), axis_);
  const Placement placement = leading(shape.rank());
  Output output;
  output.result = result_;
  output.dtype = node.type.dtype;
  output.role = full ? Output::Role::kFull : Output::Role::kRow;
  output.value = evaluate(id, placement);
  output.view = view_of(shape, placement);
  out_.is_free = out_.is_free && full;
  out_.outputs.push_back(std::move(output));
}

/// Each part of the domain's shape is stored at its place in the whole.
void Reader::add_parts(const Node& concatenation) {
  const std::vector<std::int64_t> strides = concatenation.type.shape.strides();
  const auto axis = static_cast<std::size_t>(concatenation.attrs.integer(Attr::kAxis));
  std::int64_t at = 0;
  for (const ValueId part : concatenation.operands) {
    Output output;
    output.result = result_;
    output.dtype = concatenation.type.dtype;
    output.value = evaluate(part, leading(domain_.rank()));
    output.view.columns = strides;
    output.view.offset = at * strides[axis];
    out_.outputs.push_back(std::move(output));
    at += domain_[static_cast<int>(axis)];
  }
}

View Reader::view_of(const Shape& shape, const Placement& placement) const {
  View out;
  out.columns.assign(static_cast<std::size_t>(domain_.rank()), 0);
  const std::vector<std::int64_t> strides = shape.strides();
  for (std::size_t d = 0; d < placement.size(); ++d)
    if (placement[d] >= 0) out.columns[static_cast<std::size_t>(placement[d])] += strides[d];
  return out;
}

/// The load of a stream's number, which follows the group's operands.
int Reader::add_stream(const Node& random) {
  Value load;
  load.kind = Value::Kind::kLoad;
  load.dtype = DType::kI64;
  load.operand = static_cast<int>(body_.inputs.size() + out_.streams.size());
  load.view = view_of(Shape{}, {});
  out_.streams.push_back(static_cast<std::uint64_t>(random.attrs.integer(Attr::kStream)));
  out_.values.push_back(std::move(load));
  return static_cast<int>(out_.values.size()) - 1;
}

int Reader::evaluate(ValueId id, const Placement& placement) {
  const auto key = std::make_pair(id, placement);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  const Node& node = body_[id];
  int result = -1;
  if (node.op == Op::kBroadcast) {
    const Node& operand = body_[node.operands[0]];
    Placement inner;
    for (int d = 0; d < operand.type.shape.rank(); ++d) {
      const auto to =
          static_cast<std::size_t>(node.attrs.ints(Attr::kDims)[static_cast<std::size_t>(d)]);
      inner.push_back(operand.type.shape[d] == 1 ? -1 : placement[to]);
    }
    result = evaluate(node.operands[0], inner);
  } else {
    result = make_value(node, id, placement);
  }
  known_.emplace(key, result);
  return result;
}

int Reader::operand_number(ValueId input) const {
  return static_cast<int>(std::ranges::find(body_.inputs, input) - body_.inputs.begin());
}

/// The operand is read at the slice's place in it.
void Reader::read_slice(const Node& node, const Placement& placement, Value& value) {
  const ValueId from = node.operands[0];
  const Shape& shape = body_[from].type.shape;
  const std::vector<std::int64_t> strides = shape.strides();
  value.kind = Value::Kind::kLoad;
  value.operand = operand_number(from);
  value.view = view_of(shape, placement);
  for (std::size_t d = 0; d < strides.size(); ++d)
    value.view.offset += node.attrs.ints(Attr::kStart)[d] * strides[d];
}

/// What `value` loads or makes, for a member without operands in the body.
void Reader::read_leaf(const Node& node, ValueId id, const Placement& placement, Value& value) {
  using Kind = Value::Kind;
  switch (as<LeafOp>(node.op)) {
    case Op::kInput:
      value.kind = Kind::kLoad;
      value.operand = operand_number(id);
      value.view = view_of(node.type.shape, placement);
      return;
    case Op::kConstant:
      LS_CHECK(node.type.elements() == 1, "a group holds a constant {}", node.type.to_string());
      value.kind = Kind::kConstant;
      std::memcpy(&value.constant, node.literal.bytes().data(), size_of(value.dtype));
      return;
    case Op::kIota: {
      value.kind = Kind::kIota;
      value.view.columns.assign(static_cast<std::size_t>(domain_.rank()), 0);
      const int to = placement[static_cast<std::size_t>(node.attrs.integer(Attr::kAxis))];
      if (to >= 0) value.view.columns[static_cast<std::size_t>(to)] = 1;
      return;
    }
    case Op::kRandomBits:
      value.kind = Kind::kRandom;
      value.view = view_of(node.type.shape, placement);
      for (const ValueId operand : node.operands) value.operands.push_back(evaluate(operand, {}));
      value.operands.insert(value.operands.begin() + 1, add_stream(node));
      return;
    case Op::kReplicaId: break;
  }
  LS_CHECK(false, "{} in a group", name_of(node.op));
}

int Reader::make_value(const Node& node, ValueId id, const Placement& placement) {
  Value value;
  value.op = node.op;
  value.dtype = node.type.dtype;
  if (info_of(node.op).op_class == OpClass::kLeaf) {
    read_leaf(node, id, placement, value);
  } else if (node.op == Op::kSlice) {
    read_slice(node, placement, value);
  } else if (is_reduction(node)) {
    const Shape& from = body_[node.operands[0]].type.shape;
    LS_CHECK(is_full(from) && is_range(reduced_dims(node), axis_, from.rank()),
             "{} in a group over {} by {} is no row reduction", name_of(node.op),
             domain_.to_string(), axis_);
    value.kind = Value::Kind::kReduce;
    out_.is_free = false;
    value.operands = {evaluate(node.operands[0], leading(from.rank()))};
  } else {
    LS_CHECK(is_elementwise(node.op), "{} in a group", name_of(node.op));
    for (const ValueId operand : node.operands)
      value.operands.push_back(evaluate(operand, placement));
  }
  out_.values.push_back(std::move(value));
  return static_cast<int>(out_.values.size()) - 1;
}

}  // namespace

GroupValues read_group(const Graph& body, const Shape& domain, int axis) {
  return Reader(body, domain, axis).read();
}

}  // namespace lockstep::codegen
