#include "core/passes/absorb_scales.h"

#include <utility>
#include <vector>

#include "core/passes/dce.h"
#include "core/passes/movement_rules.h"
#include "core/passes/rewrite.h"

namespace lockstep {
namespace {

/// A convolution and the chain of operations on its result, each the only user of the one before.
struct Tail {
  ValueId convolution = kNoValue;
  ValueId widened = kNoValue;  ///< a conversion right after it
  std::vector<ValueId> steps;  ///< add, subtract and multiply, each with one number a channel

  ValueId begin() const { return widened != kNoValue ? widened : convolution; }
  ValueId end() const { return steps.back(); }
};

/// The node that is the only use of each value, or kNoValue.
std::vector<ValueId> find_only_users(const Graph& graph) {
  const std::vector<int> count = count_users(graph);
  std::vector<ValueId> out(graph.nodes.size(), kNoValue);
  for (ValueId id = 0; id < graph.size(); ++id)
    for (const ValueId operand : graph[id].operands)
      if (count[static_cast<std::size_t>(operand)] == 1)
        out[static_cast<std::size_t>(operand)] = id;
  return out;
}

/// The numbers [C] of which a planar image [N,C,H,W] repeats one for each channel, or kNoValue.
ValueId find_repeated(const Graph& graph, ValueId image) {
  const Node& node = graph[image];
  if (node.op != Op::kBroadcast) return kNoValue;
  const IntView dims = node.attrs.ints(Attr::kDims);
  const ValueId numbers = node.operands[0];
  const bool of_channels =
      dims.size() == 1 && dims[0] == 1 && graph[numbers].type.shape[0] == node.type.shape[1];
  return of_channels ? numbers : kNoValue;
}

/// The numbers that a step adds to `value`, subtracts from it or multiplies it with; kNoValue if
/// the node is another operation.
ValueId find_numbers(const Graph& graph, const Node& step, ValueId value) {
  if (step.op != Op::kAdd && step.op != Op::kSubtract && step.op != Op::kMultiply) return kNoValue;
  if (step.operands[0] == value) return find_repeated(graph, step.operands[1]);
  return step.op == Op::kSubtract ? kNoValue : find_repeated(graph, step.operands[0]);
}

/// The weights in the factors' dtype, before they are rounded to another; kNoValue if there are
/// none.
ValueId find_unrounded(const Graph& graph, ValueId weights, DType factors) {
  if (factors != DType::kF32 && factors != DType::kF64) return kNoValue;
  const Node& node = graph[weights];
  const bool is_rounded = node.op == Op::kConvert && node.type.dtype == DType::kBF16;
  const ValueId unrounded = is_rounded ? node.operands[0] : weights;
  return graph[unrounded].type.dtype == factors ? unrounded : kNoValue;
}

bool pays(const Graph& graph, const Node& convolution) {
  const std::int64_t weights = graph[convolution.operands[1]].type.elements();
  return convolution.type.elements() >= kMinResultsPerWeight * weights;
}

/// Without steps if nothing can be absorbed, or if that does not pay.
Tail find_tail(const Graph& graph, const std::vector<ValueId>& only_user, ValueId id) {
  const Node& convolution = graph[id];
  if (convolution.op != Op::kConvolution || convolution.attrs.flag(Attr::kChannelsLast) ||
      !pays(graph, convolution))
    return {};
  Tail tail;
  tail.convolution = id;
  const auto next = [&](ValueId value) { return only_user[static_cast<std::size_t>(value)]; };
  if (next(id) != kNoValue && graph[next(id)].op == Op::kConvert) tail.widened = next(id);
  const DType dtype = graph[tail.begin()].type.dtype;
  const bool may_round = convolution.type.dtype == dtype || convolution.type.dtype == DType::kBF16;
  if (!may_round || find_unrounded(graph, convolution.operands[1], dtype) == kNoValue) return {};
  bool is_scaled = false;
  ValueId value = tail.begin();
  for (ValueId step = next(value); step != kNoValue; step = next(value)) {
    if (find_numbers(graph, graph[step], value) == kNoValue) break;
    is_scaled = is_scaled || graph[step].op == Op::kMultiply;
    tail.steps.push_back(value = step);
  }
  return is_scaled ? tail : Tail{};
}

std::vector<Tail> find_tails(const Graph& graph) {
  const std::vector<ValueId> only_user = find_only_users(graph);
  std::vector<Tail> out;
  for (ValueId id = 0; id < graph.size(); ++id) {
    Tail tail = find_tail(graph, only_user, id);
    if (!tail.steps.empty()) out.push_back(std::move(tail));
  }
  return out;
}

class Absorption {
 public:
  Absorption(const Graph& from, const std::vector<Tail>& tails)
      : from_(from),
        rewriter_(from),
        builder_(rewriter_.out(), movement_rules()),
        is_absorbed_(from.nodes.size(), false),
        ending_(from.nodes.size(), nullptr) {
    for (const Tail& tail : tails) {
      is_absorbed_[static_cast<std::size_t>(tail.convolution)] = true;
      is_absorbed_[static_cast<std::size_t>(tail.begin())] = true;
      for (const ValueId step : tail.steps) is_absorbed_[static_cast<std::size_t>(step)] = true;
      ending_[static_cast<std::size_t>(tail.end())] = &tail;
    }
  }

  /// A tail is built at its end: its numbers may be computed after the convolution.
  Graph run() {
    for (ValueId id = 0; id < from_.size(); ++id) {
      const auto at = static_cast<std::size_t>(id);
      if (!is_absorbed_[at]) rewriter_.copy(id);
      if (ending_[at] != nullptr) rewriter_.set(id, emit(*ending_[at]));
    }
    return drop_dead(rewriter_.finish());
  }

 private:
  /// scale * y + shift, or scale * y - shift: numbers [C], kNoValue for 1 and 0.
  struct Affine {
    ValueId scale = kNoValue;
    ValueId shift = kNoValue;
    bool is_subtracted = false;
  };

  ValueId emit(const Tail& tail) {
    Affine sum;
    ValueId value = tail.begin();
    for (const ValueId id : tail.steps) {
      const Node& step = from_[id];
      append(sum, step, rewriter_.now(find_numbers(from_, step, value)));
      value = id;
    }
    ValueId out = emit_convolution(from_[tail.convolution], sum.scale);
    if (tail.widened != kNoValue) {
      const Node& widened = from_[tail.widened];
      out = builder_.emit(Op::kConvert, {out}, widened.attrs, widened.origin);
    }
    if (sum.shift == kNoValue) return out;
    const Node& end = from_[tail.end()];
    const ValueId shift = repeat(sum.shift, end.type.shape, 1, end.origin);
    return builder_.emit(sum.is_subtracted ? Op::kSubtract : Op::kAdd, {out, shift}, {},
                         end.origin);
  }

  void append(Affine& sum, const Node& step, ValueId numbers) {
    const auto combined = [&](Op op, ValueId a, ValueId b) {
      return builder_.emit(op, {a, b}, {}, step.origin);
    };
    if (step.op == Op::kMultiply) {
      sum.scale = sum.scale == kNoValue ? numbers : combined(Op::kMultiply, sum.scale, numbers);
      if (sum.shift != kNoValue) sum.shift = combined(Op::kMultiply, sum.shift, numbers);
      return;
    }
    const bool subtracts = step.op == Op::kSubtract;
    if (sum.shift == kNoValue) {
      sum.shift = numbers;
      sum.is_subtracted = subtracts;
    } else if (subtracts == sum.is_subtracted) {
      sum.shift = combined(Op::kAdd, sum.shift, numbers);
    } else {
      sum.shift = subtracts ? combined(Op::kSubtract, sum.shift, numbers)
                            : combined(Op::kSubtract, numbers, sum.shift);
      sum.is_subtracted = false;
    }
  }

  ValueId emit_convolution(const Node& convolution, ValueId scale) {
    const Node& weights = from_[convolution.operands[1]];
    const ValueId unrounded =
        find_unrounded(from_, convolution.operands[1], builder_.type(scale).dtype);
    const ValueId factors = repeat(scale, weights.type.shape, 0, convolution.origin);
    ValueId scaled =
        builder_.emit(Op::kMultiply, {rewriter_.now(unrounded), factors}, {}, convolution.origin);
    if (from_[unrounded].type != weights.type)
      scaled = builder_.emit(Op::kConvert, {scaled}, weights.attrs, weights.origin);
    return builder_.emit(Op::kConvolution, {rewriter_.now(convolution.operands[0]), scaled},
                         convolution.attrs, convolution.origin);
  }

  /// Repeats `numbers`, one for each place of dimension `dim`.
  ValueId repeat(ValueId numbers, const Shape& shape, std::int64_t dim, const Origin& origin) {
    return builder_.emit(Op::kBroadcast, {numbers},
                         {{Attr::kShape, shape.sizes()}, {Attr::kDims, {dim}}}, origin);
  }

  const Graph& from_;
  Rewriter rewriter_;
  Builder builder_;
  std::vector<bool> is_absorbed_;    ///< of each node, whether a tail has it
  std::vector<const Tail*> ending_;  ///< at each node
};

}  // namespace

Graph absorb_scales(Graph graph, const Target& target) {
  (void)target;
  const std::vector<Tail> tails = find_tails(graph);
  if (tails.empty()) return graph;
  return Absorption(graph, tails).run();
}

}  // namespace lockstep
