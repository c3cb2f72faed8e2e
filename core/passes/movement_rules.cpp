#include "core/passes/movement_rules.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace lockstep {
namespace {

using Ints = std::vector<std::int64_t>;

ValueId drop_identity(Builder& b, const Node& node) {
  const auto first_if = [&](bool same) { return same ? node.operands[0] : kNoValue; };
  const auto same_type = [&](std::size_t i) { return node.type == b.type(node.operands[i]); };
  if (info_of(node.op).op_class == OpClass::kReduction) {
    // A sum of one term may turn -0 into 0.
    if (is_arg_reduction(node.op) || node.op == Op::kReduceSum) return kNoValue;
    return first_if(node.attrs.ints(Attr::kDims).empty());
  }
  if (info_of(node.op).op_class != OpClass::kMovement) return kNoValue;
  switch (as<MovementOp>(node.op)) {
    case Op::kReshape:
    case Op::kBroadcast:
    case Op::kSlice:
    case Op::kDynamicSlice:
    case Op::kPad: return first_if(same_type(0));
    case Op::kTranspose: {
      const auto dims = node.attrs.ints(Attr::kDims);
      return first_if(std::is_sorted(dims.begin(), dims.end()));
    }
    case Op::kConcatenate: return first_if(node.operands.size() == 1);
    case Op::kDynamicUpdateSlice: return same_type(1) ? node.operands[1] : kNoValue;
    case Op::kGather:
    case Op::kScatterAdd: return kNoValue;
  }
  __builtin_unreachable();
}

/// reshape(reshape(x)), transpose(transpose(x)), broadcast(broadcast(x)), slice(slice(x)).
ValueId merge_pair(Builder& b, const Node& node) {
  if (node.op != Op::kReshape && node.op != Op::kTranspose && node.op != Op::kBroadcast &&
      node.op != Op::kSlice)
    return kNoValue;
  const Node& inner = b[node.operands[0]];
  if (inner.op != node.op) return kNoValue;
  const ValueId x = inner.operands[0];
  Attrs attrs = node.attrs;
  if (node.op == Op::kTranspose || node.op == Op::kBroadcast) {
    const auto first = inner.attrs.ints(Attr::kDims);
    const auto then = node.attrs.ints(Attr::kDims);
    // transpose: result dimension i is then[i] of the middle; broadcast: operand dimension i goes
    // to first[i] of the middle.
    const bool transpose = node.op == Op::kTranspose;
    const auto outer = transpose ? then : first;
    const auto table = transpose ? first : then;
    Ints dims;
    for (const std::int64_t d : outer) dims.push_back(table[static_cast<std::size_t>(d)]);
    attrs.set(Attr::kDims, dims);
  } else if (node.op == Op::kSlice) {
    Ints start = inner.attrs.copy_ints(Attr::kStart);
    Ints stride = inner.attrs.copy_ints(Attr::kStride);
    Ints limit = start;
    for (std::size_t i = 0; i < start.size(); ++i) {
      start[i] += node.attrs.ints(Attr::kStart)[i] * stride[i];
      const std::int64_t size = node.type.shape[static_cast<int>(i)];
      stride[i] = size > 1 ? stride[i] * node.attrs.ints(Attr::kStride)[i] : 1;
      // An empty slice may start past the end of its operand's last stride.
      start[i] = std::min(start[i], b.type(x).shape[static_cast<int>(i)]);
      limit[i] = size == 0 ? start[i] : start[i] + (size - 1) * stride[i] + 1;
    }
    attrs.set(Attr::kStart, start);
    attrs.set(Attr::kLimit, limit);
    attrs.set(Attr::kStride, stride);
  }
  return b.emit(node.op, {x}, attrs, node.origin);
}

/// Whether the transpose keeps the order of all dimensions except those of size 1.
bool moves_only_ones(const Shape& from, IntView dims) {
  std::int64_t last = -1;
  for (const std::int64_t d : dims) {
    if (from[static_cast<int>(d)] == 1) continue;
    if (d < last) return false;
    last = d;
  }
  return true;
}

ValueId become_reshape(Builder& b, const Node& node) {
  const bool transpose = node.op == Op::kTranspose;
  if (!transpose && node.op != Op::kBroadcast) return kNoValue;
  const Type& from = b.type(node.operands[0]);
  const bool nothing_moves = transpose ? moves_only_ones(from.shape, node.attrs.ints(Attr::kDims))
                                       : from.elements() == node.type.elements();
  // Broadcasts of scalars stay: other rules search for them.
  if (!nothing_moves || (!transpose && from.shape.rank() == 0)) return kNoValue;
  return b.emit(Op::kReshape, {node.operands[0]}, {{Attr::kShape, node.type.shape.sizes()}},
                node.origin);
}

/// Finds the place of each dimension of `from` in `to`, if `to` only inserts dimensions of size 1.
bool find_inserted_ones(const Shape& from, const Shape& to, Ints& dims) {
  int next = 0;
  for (int i = 0; i < to.rank(); ++i) {
    if (next < from.rank() && from[next] == to[i]) {
      dims.push_back(i);
      ++next;
    } else if (to[i] != 1) {
      return false;
    }
  }
  return next == from.rank();
}

ValueId broadcast_through_reshape(Builder& b, const Node& node) {
  if (node.op != Op::kBroadcast) return kNoValue;
  const Node& inner = b[node.operands[0]];
  if (inner.op != Op::kReshape) return kNoValue;
  const ValueId x = inner.operands[0];
  Ints dims;
  if (!find_inserted_ones(b.type(x).shape, inner.type.shape, dims)) return kNoValue;
  for (std::int64_t& dim : dims) dim = node.attrs.ints(Attr::kDims)[static_cast<std::size_t>(dim)];
  Attrs attrs = node.attrs;
  attrs.set(Attr::kDims, dims);
  return b.emit(Op::kBroadcast, {x}, attrs, node.origin);
}

/// op(reshape(x), reshape(y), splat) -> reshape(op(x, y, splat)), if the reshapes only insert
/// dimensions of size 1: rows then keep their shape in computations.
ValueId move_reshape_down(Builder& b, const Node& node) {
  if (!is_elementwise(node.op)) return kNoValue;
  const Node* inner = nullptr;
  for (const ValueId id : node.operands) {
    const Node& operand = b[id];
    if (operand.op == Op::kReshape) {
      const Shape& from = b.type(operand.operands[0]).shape;
      Ints dims;
      if (from.rank() >= node.type.shape.rank() || !find_inserted_ones(from, node.type.shape, dims))
        return kNoValue;
      if (inner != nullptr && b.type(inner->operands[0]).shape != from) return kNoValue;
      inner = &operand;
    } else if (operand.op != Op::kBroadcast || b.type(operand.operands[0]).shape.rank() != 0) {
      return kNoValue;
    }
  }
  if (inner == nullptr) return kNoValue;
  const Shape shape = b.type(inner->operands[0]).shape;
  Node moved = node;
  moved.type.shape = shape;
  for (ValueId& operand : moved.operands)
    operand = b[operand].op == Op::kReshape
                  ? b[operand].operands[0]
                  : b.emit_splat(b[operand].operands[0], shape, b[operand].origin);
  return b.emit(Op::kReshape, {b.emit(std::move(moved))}, {{Attr::kShape, node.type.shape.sizes()}},
                node.origin);
}

/// broadcast(convert(x)) -> convert(broadcast(x)), and a broadcast iota is an iota: groups then
/// read x itself, or nothing.
ValueId move_broadcast_up(Builder& b, const Node& node) {
  if (node.op != Op::kBroadcast) return kNoValue;
  const Node inner = b[node.operands[0]];
  if (inner.type.shape.rank() == 0) return kNoValue;
  if (inner.op == Op::kConvert) {
    const ValueId x = b.emit(Op::kBroadcast, {inner.operands[0]}, node.attrs, node.origin);
    return b.emit(Op::kConvert, {x}, inner.attrs, inner.origin);
  }
  if (inner.op != Op::kIota) return kNoValue;
  const auto axis = static_cast<std::size_t>(inner.attrs.integer(Attr::kAxis));
  const std::int64_t now = node.attrs.ints(Attr::kDims)[axis];
  if (inner.type.shape[static_cast<int>(axis)] != node.type.shape[static_cast<int>(now)])
    return kNoValue;
  Attrs attrs = inner.attrs;
  attrs.set(Attr::kShape, node.type.shape.sizes());
  attrs.set_int(Attr::kAxis, now);
  return b.emit(Op::kIota, {}, attrs, node.origin);
}

ValueId sort_reduced(Builder& b, const Node& node) {
  if (info_of(node.op).op_class != OpClass::kReduction || !node.attrs.has(Attr::kDims))
    return kNoValue;
  Ints dims = node.attrs.copy_ints(Attr::kDims);
  if (std::is_sorted(dims.begin(), dims.end())) return kNoValue;
  std::sort(dims.begin(), dims.end());
  return b.emit(node.op, node.operands, {{Attr::kDims, dims}}, node.origin);
}

ValueId move_splat(Builder& b, const Node& node) {
  if (node.op != Op::kReshape && node.op != Op::kTranspose && node.op != Op::kSlice)
    return kNoValue;
  const Node& inner = b[node.operands[0]];
  if (inner.op != Op::kBroadcast || b.type(inner.operands[0]).shape.rank() != 0) return kNoValue;
  return b.emit_splat(inner.operands[0], node.type.shape, node.origin);
}

ValueId fix_dynamic_slice(Builder& b, const Node& node) {
  if (node.op != Op::kDynamicSlice) return kNoValue;
  const Shape& from = b.type(node.operands[0]).shape;
  Ints start, limit;
  for (int i = 0; i < from.rank(); ++i) {
    const Node& index = b[node.operands[static_cast<std::size_t>(i) + 1]];
    if (index.op != Op::kConstant) return kNoValue;
    const std::int64_t size = node.type.shape[i];
    start.push_back(
        std::clamp<std::int64_t>(index.literal.as<const std::int64_t>()[0], 0, from[i] - size));
    limit.push_back(start.back() + size);
  }
  return b.emit(
      Op::kSlice, {node.operands[0]},
      {{Attr::kStart, start}, {Attr::kLimit, limit}, {Attr::kStride, Ints(start.size(), 1)}},
      node.origin);
}

constexpr std::array<Rule, 9> kMovementRules = {
    drop_identity,     merge_pair,   become_reshape, broadcast_through_reshape, move_reshape_down,
    move_broadcast_up, sort_reduced, move_splat,     fix_dynamic_slice};

}  // namespace

std::span<const Rule> movement_rules() {
  return kMovementRules;
}

}  // namespace lockstep
