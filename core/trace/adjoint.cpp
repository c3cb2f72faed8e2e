#include "core/trace/adjoint.h"

#include <algorithm>
#include <optional>

#include "core/trace/context.h"
#include "core/trace/elementwise.h"
#include "core/trace/ops.h"

namespace lockstep {
namespace {

Tensor add_wide(const Tensor& a, const Tensor& b) {
  const DType dtype = size_of(a.dtype()) < size_of(b.dtype()) ? b.dtype() : a.dtype();
  return convert(a, dtype) + convert(b, dtype);
}

void add_to(Tensor& sum, const Tensor& share) {
  sum = sum.defined() ? add_wide(sum, share) : share;
}

/// The node that made a tensor. Recording may move it.
const Node& recipe(const Tensor& tensor) {
  TraceContext& context = tensor.context();
  return context.pending()[context.node_of(tensor)];
}

bool is_zero(const Graph& graph, ValueId id) {
  if (graph[id].op == Op::kBroadcast) id = graph[id].operands[0];
  const Node& node = graph[id];
  return node.op == Op::kConstant && node.type.shape.rank() == 0 &&
         to_doubles(node.literal)[0] == 0;
}

/// The one dimension that is padded.
std::optional<int> padded_axis(const Node& pad, const Shape& from) {
  std::optional<int> out;
  for (int i = 0; i < from.rank(); ++i) {
    if (pad.type.shape[i] == from[i]) continue;
    if (out) return std::nullopt;
    out = i;
  }
  return out;
}

}  // namespace

void Adjoint::add(const Tensor& share) {
  if (add_part(share) || scatter(share)) return;
  add_to(sum_, share);
}

bool Adjoint::add_part(const Tensor& share) {
  const Node& node = recipe(share);
  if (node.op != Op::kPad) return false;
  TraceContext& context = share.context();
  const Graph& graph = context.pending();
  const auto axis = padded_axis(node, graph[node.operands[0]].type.shape);
  if (!axis || !is_zero(graph, node.operands[1])) return false;
  if (!parts_.empty() && (*axis != axis_ || parts_[0].whole.dtype() != share.dtype())) return false;
  axis_ = *axis;
  parts_.push_back({share, context.tensor_of(node.operands[0]),
                    node.attrs.ints(Attr::kLow)[static_cast<std::size_t>(*axis)]});
  return true;
}

bool Adjoint::scatter(const Tensor& share) {
  const Node& node = recipe(share);
  if (node.op != Op::kScatterAdd || !sum_.defined() || sum_.dtype() != share.dtype()) return false;
  TraceContext& context = share.context();
  if (!is_zero(context.pending(), node.operands[0])) return false;
  const auto axis = static_cast<int>(node.attrs.integer(Attr::kAxis));
  sum_ = scatter_add(sum_, context.tensor_of(node.operands[1]), context.tensor_of(node.operands[2]),
                     axis);
  return true;
}

void Adjoint::join_parts() {
  std::vector<Part> parts = std::move(parts_);
  parts_.clear();
  if (parts.empty()) return;
  std::vector<Part> sorted = parts;
  std::ranges::stable_sort(sorted, {}, &Part::start);
  std::vector<Tensor> values;
  std::int64_t end = 0;
  for (const Part& part : sorted) {
    if (part.start != end) break;
    values.push_back(part.value);
    end += part.value.size(axis_);
  }
  if (values.size() == parts.size() && end == parts[0].whole.size(axis_)) {
    add_to(sum_, concatenate(values, axis_));
  } else {
    for (const Part& part : parts) add_to(sum_, part.whole);
  }
}

Tensor Adjoint::sum() {
  join_parts();
  return sum_;
}

}  // namespace lockstep
