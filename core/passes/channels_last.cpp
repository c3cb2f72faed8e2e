#include "core/passes/channels_last.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <vector>

#include "core/ir/image_layout.h"
#include "core/passes/dce.h"
#include "core/passes/movement_rules.h"
#include "core/passes/rewrite.h"

namespace lockstep {
namespace {

using Ints = std::vector<std::int64_t>;

/// Whether the node is a window op on planar images.
bool is_window_op(const Node& node) {
  const OpClass kind = info_of(node.op).op_class;
  const bool slides =
      kind == OpClass::kWindow || (kind == OpClass::kContraction && node.op != Op::kDotGeneral);
  return slides && !node.attrs.flag(Attr::kChannelsLast);
}

/// Whether the node can give its result in either layout, if its operands have the same layout.
bool keeps_layout(const Node& node) {
  return is_elementwise(node.op) || node.op == Op::kOptimizationBarrier ||
         node.op == Op::kConcatenate || node.op == Op::kSlice || node.op == Op::kPad;
}

/// Whether the node can give its result in either layout at once.
bool is_source(const Node& node) {
  return node.op == Op::kBroadcast || node.op == Op::kIota || node.op == Op::kConstant;
}

/// Operand `i` of a window op that is an image, not a weight.
bool is_image(const Node& node, std::size_t i) {
  const bool weight_second = node.op == Op::kConvolution || node.op == Op::kConvolutionGradInput;
  return !(weight_second && i == 1);
}

/// Operand `i` of a node that keeps_layout() has the layout of the result: an image of rank 4.
bool follows(const Graph& graph, const Node& node, std::size_t i) {
  const bool image = node.op != Op::kPad && node.op != Op::kOptimizationBarrier;
  return (image || i == 0) && graph[node.operands[i]].type.shape.rank() == 4;
}

/// A convolution of single places, or its gradient: a product of matrices, once images are channels
/// last.
bool is_pointwise(const Graph& graph, const Node& node) {
  if (!is_window_op(node) || info_of(node.op).op_class == OpClass::kWindow) return false;
  const Shape& w =
      node.op == Op::kConvolutionGradWeight ? node.type.shape : graph[node.operands[1]].type.shape;
  const IntView padding = node.attrs.ints(Attr::kPadding);
  return w[2] == 1 && w[3] == 1 && node.attrs.integer(Attr::kGroups) == 1 &&
         std::all_of(padding.begin(), padding.end(), [](std::int64_t p) { return p == 0; });
}

bool is_strided(const Node& node) {
  const IntView stride = node.attrs.ints(Attr::kStride);
  return stride[0] != 1 || stride[1] != 1;
}

/// Which values become channels last: results of window ops, and all values connected with them by
/// elementwise work and similar nodes.
std::vector<bool> choose(const Graph& graph) {
  std::vector<bool> last(graph.nodes.size(), false);
  std::vector<std::vector<ValueId>> neighbours(graph.nodes.size());
  std::vector<ValueId> pending;
  const auto at = [](ValueId id) { return static_cast<std::size_t>(id); };
  const auto mark = [&](ValueId id) {
    if (last[at(id)]) return;
    last[at(id)] = true;
    pending.push_back(id);
  };
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.type.shape.rank() != 4) continue;
    if (is_window_op(node) && node.op != Op::kConvolutionGradWeight) mark(id);
    if (!keeps_layout(node)) continue;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      if (!follows(graph, node, i)) continue;
      neighbours[at(id)].push_back(node.operands[i]);
      neighbours[at(node.operands[i])].push_back(id);
    }
  }
  while (!pending.empty()) {
    const ValueId id = pending.back();
    pending.pop_back();
    for (const ValueId next : neighbours[at(id)])
      if (keeps_layout(graph[next]) || is_source(graph[next])) mark(next);
  }
  return last;
}

/// list[i] for each dimension i that the image has channels last.
Ints permuted(IntView list) {
  Ints out;
  for (const std::int64_t d : kToChannelsLast) out.push_back(list[static_cast<std::size_t>(d)]);
  return out;
}

/// The rank of each of these places in their order.
Ints order_of(const Ints& places) {
  Ints out(places.size());
  std::iota(out.begin(), out.end(), 0);
  std::sort(out.begin(), out.end(), [&](std::int64_t a, std::int64_t b) {
    return places[static_cast<std::size_t>(a)] < places[static_cast<std::size_t>(b)];
  });
  return out;
}

/// The dimensions of a planar image as dimensions of one that is channels last.
Ints renamed(IntView dims) {
  Ints out;
  for (const std::int64_t d : dims) out.push_back(kToPlanar[static_cast<std::size_t>(d)]);
  return out;
}

class Relayout {
 public:
  explicit Relayout(const Graph& from)
      : from_(from),
        last_(choose(from)),
        rewriter_(from),
        builder_(rewriter_.out(), movement_rules()),
        other_(from.nodes.size(), kNoValue) {}

  Graph run() {
    for (ValueId id = 0; id < from_.size(); ++id) rewriter_.set(id, emit(id));
    for (const ValueId output : from_.outputs)
      if (is_last(output)) rewriter_.set(output, value(output, false));
    return drop_dead(rewriter_.finish());
  }

 private:
  bool is_last(ValueId old) const { return last_[static_cast<std::size_t>(old)]; }

  /// The value in the requested layout.
  ValueId value(ValueId old, bool last) {
    if (is_last(old) == last) return rewriter_.now(old);
    ValueId& other = other_[static_cast<std::size_t>(old)];
    if (other == kNoValue)
      other = builder_.emit(Op::kTranspose, {rewriter_.now(old)},
                            {{Attr::kDims, last ? IntView(kToChannelsLast) : IntView(kToPlanar)}},
                            from_[old].origin);
    return other;
  }

  ValueId emit(ValueId id) {
    const Node& node = from_[id];
    if (is_window_op(node)) return emit_window(node);
    if (is_last(id)) return keeps_layout(node) ? emit_kept(node) : emit_source(node);
    if (info_of(node.op).op_class == OpClass::kReduction && node.attrs.has(Attr::kDims) &&
        is_last(node.operands[0]))
      return emit_reduction(node);
    Node moved = node;
    for (ValueId& operand : moved.operands) operand = value(operand, false);
    // Only new nodes need the rules.
    return rewriter_.out().append(std::move(moved));
  }

  ValueId emit_window(const Node& node) {
    if (is_pointwise(from_, node) && !(node.op == Op::kConvolutionGradInput && is_strided(node)))
      return emit_product(node);
    std::vector<ValueId> operands;
    operands.reserve(node.operands.size());
    for (std::size_t i = 0; i < node.operands.size(); ++i)
      operands.push_back(value(node.operands[i], is_image(node, i)));
    Attrs attrs = node.attrs;
    attrs.set_int(Attr::kChannelsLast, 1);
    if (attrs.has(Attr::kShape) && node.op != Op::kConvolutionGradWeight)
      attrs.set(Attr::kShape, permuted(node.attrs.ints(Attr::kShape)));
    return builder_.emit(node.op, operands, std::move(attrs), node.origin);
  }

  /// The places of an image [N,H,W,C] that a pointwise convolution reads.
  ValueId seen_places(ValueId image, const Node& node) {
    const ValueId x = value(image, true);
    if (!is_strided(node)) return x;
    const IntView stride = node.attrs.ints(Attr::kStride);
    return builder_.emit(Op::kSlice, {x},
                         {{Attr::kStart, {0, 0, 0, 0}},
                          {Attr::kLimit, builder_.type(x).shape.sizes()},
                          {Attr::kStride, {1, stride[0], stride[1], 1}}},
                         node.origin);
  }

  ValueId emit_product(const Node& node) {
    const auto product = [&](ValueId a, ValueId b, IntView from_a, IntView from_b) {
      Attrs attrs{{Attr::kLhsBatch, {}},
                  {Attr::kRhsBatch, {}},
                  {Attr::kLhsContract, from_a},
                  {Attr::kRhsContract, from_b}};
      if (node.attrs.has(Attr::kTo)) attrs.set_dtype(node.attrs.dtype());
      return builder_.emit(Op::kDotGeneral, {a, b}, std::move(attrs), node.origin);
    };
    const bool of_input = node.op == Op::kConvolutionGradInput;
    if (node.op == Op::kConvolutionGradWeight) {
      const ValueId x = seen_places(node.operands[0], node);
      const ValueId w = product(value(node.operands[1], true), x, {0, 1, 2}, {0, 1, 2});
      return builder_.emit(Op::kReshape, {w}, {{Attr::kShape, node.type.shape.sizes()}},
                           node.origin);
    }
    const Shape& filter = from_[node.operands[1]].type.shape;
    const ValueId x =
        of_input ? value(node.operands[0], true) : seen_places(node.operands[0], node);
    const ValueId w = builder_.emit(Op::kReshape, {value(node.operands[1], false)},
                                    {{Attr::kShape, {filter[0], filter[1]}}}, node.origin);
    return product(x, w, {3}, {of_input ? 0 : 1});
  }

  ValueId emit_kept(const Node& node) {
    Node moved = node;
    for (std::size_t i = 0; i < node.operands.size(); ++i)
      moved.operands[i] = value(node.operands[i], follows(from_, node, i));
    moved.type.shape = stored(node);
    for (const Attr attr : {Attr::kStart, Attr::kLimit, Attr::kStride, Attr::kLow, Attr::kHigh})
      if (node.attrs.has(attr)) moved.attrs.set(attr, permuted(node.attrs.ints(attr)));
    if (node.op == Op::kConcatenate)
      moved.attrs.set_int(Attr::kAxis, renamed(node.attrs.ints(Attr::kAxis))[0]);
    return builder_.emit(std::move(moved));
  }

  ValueId emit_source(const Node& node) {
    if (node.op == Op::kConstant) {
      Node planar = node;
      return builder_.emit(Op::kTranspose, {rewriter_.out().append(std::move(planar))},
                           {{Attr::kDims, kToChannelsLast}}, node.origin);
    }
    Node moved = node;
    for (ValueId& operand : moved.operands) operand = value(operand, false);
    moved.type.shape = stored(node);
    moved.attrs.set(Attr::kShape, moved.type.shape.sizes());
    if (node.op == Op::kBroadcast) {
      Ints dims = renamed(node.attrs.ints(Attr::kDims));
      moved.operands[0] = builder_.emit(Op::kTranspose, {moved.operands[0]},
                                        {{Attr::kDims, order_of(dims)}}, node.origin);
      std::sort(dims.begin(), dims.end());
      moved.attrs.set(Attr::kDims, dims);
    } else {
      moved.attrs.set_int(Attr::kAxis, renamed(node.attrs.ints(Attr::kAxis))[0]);
    }
    return builder_.emit(std::move(moved));
  }

  /// The remaining dimensions are in the order of the image.
  ValueId emit_reduction(const Node& node) {
    Ints dims = renamed(node.attrs.ints(Attr::kDims));
    std::sort(dims.begin(), dims.end());
    const ValueId reduced =
        builder_.emit(node.op, {value(node.operands[0], true)}, {{Attr::kDims, dims}}, node.origin);
    Ints kept;  // the remaining dimensions' places among the planar ones
    for (const std::int64_t d : kToChannelsLast)
      if (!std::binary_search(dims.begin(), dims.end(), renamed({d})[0])) kept.push_back(d);
    return builder_.emit(Op::kTranspose, {reduced}, {{Attr::kDims, order_of(kept)}}, node.origin);
  }

  static Shape stored(const Node& node) {
    Shape out;
    for (const std::int64_t d : kToChannelsLast)
      out.push_back(node.type.shape.dim(static_cast<int>(d)));
    return out;
  }

  const Graph& from_;
  std::vector<bool> last_;
  Rewriter rewriter_;
  Builder builder_;
  std::vector<ValueId> other_;  ///< the value in the layout that it was not computed in
};

}  // namespace

Graph channels_last(Graph graph, const Target& target) {
  (void)target;
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), is_window_op)) return graph;
  return Relayout(graph).run();
}

}  // namespace lockstep
