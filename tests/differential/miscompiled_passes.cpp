#include <algorithm>

#include "core/base/error.h"
#include "core/ir/infer.h"
#include "tests/differential/miscompiles.h"

namespace lockstep::testing {
namespace {

using Maybe = std::optional<Graph>;

/// A node changed in place, if its type stays: the first live one for which `change` says so.
template <class Change>
Maybe change_node(const Graph& graph, const Change& change) {
  const std::vector<bool> live = find_reachable(graph);
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (!live[static_cast<std::size_t>(id)] || graph[id].type.elements() == 0) continue;
    Node node = graph[id];
    if (!change(node)) continue;
    std::vector<Type> types;
    for (const ValueId operand : node.operands) types.push_back(graph[operand].type);
    try {
      if (infer_type(node.op, types, node.attrs) != node.type) continue;
    } catch (const Error&) {
      continue;
    }
    Graph out = graph;
    out.nodes[static_cast<std::size_t>(id)] = std::move(node);
    return out;
  }
  return std::nullopt;
}

/// All users of a value take another one: the first for which `instead` gives one.
template <class Instead>
Maybe forward_value(const Graph& graph, const Instead& instead) {
  const std::vector<bool> live = find_reachable(graph);
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (!live[static_cast<std::size_t>(id)] || graph[id].type.elements() == 0) continue;
    const ValueId other = instead(id);
    if (other == kNoValue || graph[other].type != graph[id].type) continue;
    Graph out = graph;
    for (Node& node : out.nodes) std::ranges::replace(node.operands, id, other);
    std::ranges::replace(out.outputs, id, other);
    return out;
  }
  return std::nullopt;
}

bool is_reduction(Op op) {
  return info_of(op).op_class == OpClass::kReduction;
}

/// The next dimension instead of each reduced one.
Maybe wrong_reduced_axis(const Graph& graph) {
  return change_node(graph, [&](Node& node) {
    if (!is_reduction(node.op) || node.op == Op::kArgMax || node.op == Op::kArgMin) return false;
    const int rank = graph[node.operands[0]].type.shape.rank();
    const IntView reduced = node.attrs.ints(Attr::kDims);
    if (reduced.empty() || static_cast<int>(reduced.size()) == rank) return false;
    Attrs::Ints dims;
    for (const std::int64_t d : reduced) dims.push_back((d + 1) % rank);
    std::ranges::sort(dims);
    node.attrs.set(Attr::kDims, dims);
    return true;
  });
}

Maybe wrong_gather_axis(const Graph& graph) {
  return change_node(graph, [](Node& node) {
    if (node.op != Op::kGather && node.op != Op::kConcatenate && node.op != Op::kIota) return false;
    node.attrs.set_int(Attr::kAxis, node.attrs.integer(Attr::kAxis) == 0 ? 1 : 0);
    return true;
  });
}

/// A conversion there and back is taken for nothing.
Maybe lost_convert(const Graph& graph) {
  return forward_value(graph, [&](ValueId id) {
    if (graph[id].op != Op::kConvert) return kNoValue;
    const Node& inner = graph[graph[id].operands[0]];
    return inner.op == Op::kConvert ? inner.operands[0] : kNoValue;
  });
}

Maybe swapped_operands(const Graph& graph) {
  return change_node(graph, [](Node& node) {
    const OpInfo& info = info_of(node.op);
    const bool binary = info.op_class == OpClass::kBinary || info.op_class == OpClass::kCompare;
    if (!binary || info.commutative || node.operands[0] == node.operands[1]) return false;
    std::swap(node.operands[0], node.operands[1]);
    return true;
  });
}

Maybe swapped_choices(const Graph& graph) {
  return change_node(graph, [](Node& node) {
    if (node.op != Op::kSelect || node.operands[1] == node.operands[2]) return false;
    std::swap(node.operands[1], node.operands[2]);
    return true;
  });
}

/// The operand's dimensions become others of the same sizes.
Maybe wrong_broadcast_dims(const Graph& graph) {
  return change_node(graph, [](Node& node) {
    if (node.op != Op::kBroadcast || node.attrs.ints(Attr::kDims).size() != 1) return false;
    const std::int64_t dim = node.attrs.ints(Attr::kDims)[0];
    const Shape& to = node.type.shape;
    for (int d = 0; d < to.rank(); ++d) {
      if (d == dim || to[d] != to[static_cast<int>(dim)] || to[d] == 1) continue;
      node.attrs.set(Attr::kDims, {d});
      return true;
    }
    return false;
  });
}

Maybe wrong_permutation(const Graph& graph) {
  return change_node(graph, [](Node& node) {
    if (node.op != Op::kTranspose || node.attrs.ints(Attr::kDims).size() < 2) return false;
    Attrs::Ints dims = node.attrs.copy_ints(Attr::kDims);
    std::swap(dims[0], dims[1]);
    node.attrs.set(Attr::kDims, dims);
    return true;
  });
}

Maybe transposed_dot_operand(const Graph& graph) {
  return change_node(graph, [&](Node& node) {
    if (node.op != Op::kDotGeneral || node.attrs.ints(Attr::kRhsContract).size() != 1) return false;
    const std::int64_t free = node.attrs.ints(Attr::kRhsContract)[0] == 0 ? 1 : 0;
    node.attrs.set(Attr::kRhsContract, {free});
    return true;
  });
}

/// add(dot, bias) becomes the dot.
Maybe dropped_bias(const Graph& graph) {
  return forward_value(graph, [&](ValueId id) {
    if (graph[id].op != Op::kAdd) return kNoValue;
    const ValueId x = graph[id].operands[0];
    return graph[x].op == Op::kDotGeneral ? x : kNoValue;
  });
}

/// All users of a value take what `instead` adds behind its copy: the first for which it gives
/// something. It is told where each old value lives in the copy.
template <class Instead>
Maybe replace_value(const Graph& graph, const Instead& instead) {
  Graph out;
  out.strings = graph.strings;
  std::vector<ValueId> now;
  bool is_replaced = false;
  for (ValueId id = 0; id < graph.size(); ++id) {
    Node node = graph[id];
    for (ValueId& operand : node.operands) operand = now[static_cast<std::size_t>(operand)];
    now.push_back(out.append(std::move(node)));
    const ValueId other = is_replaced ? kNoValue : instead(out, id, now);
    if (other == kNoValue) continue;
    is_replaced = true;
    now.back() = other;
  }
  if (!is_replaced) return std::nullopt;
  out.inputs.clear();
  for (const ValueId input : graph.inputs)
    out.inputs.push_back(now[static_cast<std::size_t>(input)]);
  for (const ValueId output : graph.outputs)
    out.outputs.push_back(now[static_cast<std::size_t>(output)]);
  out.updates = graph.updates;
  return out;
}

/// A maximum that starts at zero.
Maybe wrong_reduction_identity(const Graph& graph) {
  return replace_value(graph, [&](Graph& out, ValueId id, const std::vector<ValueId>& now) {
    const Type& type = graph[id].type;
    if (graph[id].op != Op::kReduceMax || type.elements() == 0) return kNoValue;
    const ValueId zero =
        out.add_constant(from_doubles(type.dtype, Shape{}, std::vector<double>{0}));
    const ValueId zeros =
        out.add(Op::kBroadcast, {zero}, {{Attr::kShape, type.shape.sizes()}, {Attr::kDims, {}}});
    return out.add(Op::kMaximum, {now.back(), zeros});
  });
}

/// (y - mean) * factor, where the factor went to y alone.
Maybe unscaled_mean(const Graph& graph) {
  return replace_value(graph, [&](Graph& out, ValueId id, const std::vector<ValueId>& now) {
    if (graph[id].op != Op::kMultiply || graph[id].type.elements() == 0) return kNoValue;
    const Node& centered = graph[graph[id].operands[0]];
    if (centered.op != Op::kSubtract || graph[centered.operands[1]].op != Op::kBroadcast)
      return kNoValue;
    const auto at = [&](ValueId old) { return now[static_cast<std::size_t>(old)]; };
    const ValueId scaled =
        out.add(Op::kMultiply, {at(centered.operands[0]), at(graph[id].operands[1])});
    return out.add(Op::kSubtract, {scaled, at(centered.operands[1])});
  });
}

Maybe slice_off_by_one(const Graph& graph) {
  return change_node(graph, [&](Node& node) {
    if (node.op != Op::kSlice) return false;
    Attrs::Ints start = node.attrs.copy_ints(Attr::kStart);
    Attrs::Ints limit = node.attrs.copy_ints(Attr::kLimit);
    for (std::size_t d = 0; d < start.size(); ++d) {
      if (start[d] == 0) continue;
      --start[d];
      --limit[d];
      node.attrs.set(Attr::kStart, start);
      node.attrs.set(Attr::kLimit, limit);
      return true;
    }
    return false;
  });
}

Maybe forgotten_causality(const Graph& graph) {
  return change_node(graph, [](Node& node) {
    if (node.op != Op::kAttention || !node.attrs.flag(Attr::kCausal)) return false;
    node.attrs.set_int(Attr::kCausal, 0);
    return true;
  });
}

Maybe shared_random_stream(const Graph& graph) {
  return change_node(graph, [](Node& node) {
    if (node.op != Op::kRandomBits) return false;
    node.attrs.set_int(Attr::kStream, node.attrs.integer(Attr::kStream) + 1);
    return true;
  });
}

/// Subexpressions taken for equal that differ in their op.
Maybe merged_compares(const Graph& graph) {
  return change_node(graph, [](Node& node) {
    if (node.op != Op::kLess && node.op != Op::kGreater) return false;
    node.op = node.op == Op::kLess ? Op::kLessEqual : Op::kGreaterEqual;
    return true;
  });
}

/// x + 1 folded as if it were x * 1.
Maybe folded_identity(const Graph& graph) {
  return forward_value(graph, [&](ValueId id) {
    if (graph[id].op != Op::kAdd) return kNoValue;
    const Node& splat = graph[graph[id].operands[1]];
    if (splat.op != Op::kBroadcast || graph[splat.operands[0]].op != Op::kConstant) return kNoValue;
    return graph[id].operands[0];
  });
}

/// Windows lie one row higher than they should, which shows at the edges.
Maybe shifted_window(const Graph& graph) {
  return change_node(graph, [](Node& node) {
    if (!node.attrs.has(Attr::kPadding) || node.op == Op::kConvolutionGradWeight) return false;
    Attrs::Ints padding = node.attrs.copy_ints(Attr::kPadding);
    if (padding[1] == 0) return false;
    ++padding[0];
    --padding[1];
    node.attrs.set(Attr::kPadding, padding);
    return true;
  });
}

Maybe averaged_maximum(const Graph& graph) {
  return change_node(graph, [](Node& node) {
    if (node.op != Op::kMaxPool) return false;
    node.op = Op::kAvgPool;
    return true;
  });
}

/// An image is taken to be stored the other way, where that fits.
Maybe mistaken_layout(const Graph& graph) {
  return change_node(graph, [](Node& node) {
    const OpClass kind = info_of(node.op).op_class;
    if (kind != OpClass::kWindow) return false;
    node.attrs.set_int(Attr::kChannelsLast, node.attrs.flag(Attr::kChannelsLast) ? 0 : 1);
    return true;
  });
}

/// The row that comes before instead of the right one, at the edge of a table.
Maybe swapped_concatenation(const Graph& graph) {
  return change_node(graph, [](Node& node) {
    if (node.op != Op::kConcatenate || node.operands.size() < 2) return false;
    if (node.operands.front() == node.operands.back()) return false;
    std::swap(node.operands.front(), node.operands.back());
    return true;
  });
}

}  // namespace

std::vector<Miscompile> miscompiled_passes() {
  return {{"wrong_reduced_axis", wrong_reduced_axis},
          {"wrong_gather_axis", wrong_gather_axis},
          {"lost_convert", lost_convert},
          {"swapped_operands", swapped_operands},
          {"swapped_choices", swapped_choices},
          {"wrong_broadcast_dims", wrong_broadcast_dims},
          {"wrong_permutation", wrong_permutation},
          {"transposed_dot_operand", transposed_dot_operand},
          {"dropped_bias", dropped_bias},
          {"wrong_reduction_identity", wrong_reduction_identity},
          {"unscaled_mean", unscaled_mean},
          {"slice_off_by_one", slice_off_by_one},
          {"forgotten_causality", forgotten_causality},
          {"shared_random_stream", shared_random_stream},
          {"merged_compares", merged_compares},
          {"folded_identity", folded_identity},
          {"swapped_concatenation", swapped_concatenation},
          {"shifted_window", shifted_window},
          {"averaged_maximum", averaged_maximum},
          {"mistaken_layout", mistaken_layout}};
}

}  // namespace lockstep::testing
