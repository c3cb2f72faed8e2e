#include "trainer/train/twice_divided.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <map>
#include <span>
#include <vector>

#include "core/base/error.h"
#include "core/trace/context.h"

namespace lockstep {
namespace {

/// By dimension: whether it goes over the samples of the batch.
using Dims = std::bitset<Shape::kMaxRank>;

Dims places(std::span<const std::int64_t> dims) {
  Dims out;
  for (const std::int64_t d : dims) out.set(static_cast<std::size_t>(d));
  return out;
}

/// The elements of `from` without those of `gone`.
Dims without(const Dims& from, const Dims& gone) {
  Dims out;
  for (std::size_t i = 0, to = 0; i < from.size(); ++i)
    if (!gone[i]) out[to++] = from[i];
  return out;
}

/// If a dimension is split or joined, the samples are in the first of the new dimensions, because
/// they vary slowest.
Dims reshaped(const Dims& from, const Shape& old, const Shape& now) {
  Dims out;
  for (int i = 0, j = 0; i < old.rank() && j < now.rank(); ++i, ++j) {
    const int first = j;
    std::int64_t before = old[i], after = now[j];
    bool sampled = from[static_cast<std::size_t>(i)];
    while (before != after) {
      if (before < after) {
        if (++i >= old.rank()) return out;
        before *= old[i];
        sampled = sampled || from[static_cast<std::size_t>(i)];
      } else {
        if (++j >= now.rank()) return out;
        after *= now[j];
      }
    }
    if (sampled) out.set(static_cast<std::size_t>(first));
  }
  return out;
}

/// The dimensions of pending values that go over samples; nothing for values where they are
/// unknown.
class SampleDims {
 public:
  explicit SampleDims(const Graph& graph) : graph_(graph) {}

  Dims of(ValueId id) {
    // Operands come before their users. No recursion, because models are deep.
    std::vector<ValueId> open{id};
    while (!open.empty()) {
      const ValueId next = open.back();
      bool ready = true;
      if (!known_.contains(next))
        for (const ValueId operand : graph_[next].operands)
          if (!known_.contains(operand)) {
            open.push_back(operand);
            ready = false;
          }
      if (!ready) continue;
      open.pop_back();
      if (!known_.contains(next)) known_.emplace(next, made_of(graph_[next]));
    }
    return known_.at(id);
  }

 private:
  Dims operand(const Node& node, std::size_t i) const { return known_.at(node.operands[i]); }

  Dims made_of(const Node& node) const {
    switch (info_of(node.op).op_class) {
      case OpClass::kLeaf:
        return Dims(node.op == Op::kInput && node.input_kind == InputKind::kBatch &&
                            node.type.shape.rank() > 0
                        ? 1
                        : 0);
      case OpClass::kUnary:
      case OpClass::kBinary:
      case OpClass::kCompare:
      case OpClass::kSelect:
      case OpClass::kConvert: return of_any(node);
      case OpClass::kMovement: return moved(node);
      case OpClass::kReduction: return reduced(node);
      case OpClass::kContraction: return contracted(node);
      case OpClass::kWindow:
      case OpClass::kAttention: return operand(node, 0) & Dims(1);
      case OpClass::kControl:
        return node.op == Op::kOptimizationBarrier ? operand(node, 0) : Dims();
      case OpClass::kCollective: return {};
    }
    __builtin_unreachable();
  }

  Dims of_any(const Node& node) const {
    Dims out;
    for (std::size_t i = 0; i < node.operands.size(); ++i) out |= operand(node, i);
    return out;
  }

  Dims moved(const Node& node) const {
    const Dims from = operand(node, 0);
    const Shape& old = graph_[node.operands[0]].type.shape;
    Dims out;
    if (node.op == Op::kReshape) return reshaped(from, old, node.type.shape);
    if (node.op == Op::kBroadcast) {
      const auto dims = node.attrs.ints(Attr::kDims);
      for (std::size_t i = 0; i < dims.size(); ++i)
        out[static_cast<std::size_t>(dims[i])] = from[i];
      return out;
    }
    if (node.op == Op::kTranspose) {
      const auto dims = node.attrs.ints(Attr::kDims);
      for (std::size_t i = 0; i < dims.size(); ++i)
        out[i] = from[static_cast<std::size_t>(dims[i])];
      return out;
    }
    if (node.op != Op::kGather) return from;  // slices, pads and parts keep their dimensions
    const auto axis = static_cast<std::size_t>(node.attrs.integer(Attr::kAxis));
    const auto indices = static_cast<std::size_t>(graph_[node.operands[1]].type.shape.rank());
    for (std::size_t i = 0; i < axis; ++i) out[i] = from[i];
    for (std::size_t i = 0; i < indices; ++i) out[axis + i] = operand(node, 1)[i];
    for (std::size_t i = axis + 1; i < static_cast<std::size_t>(old.rank()); ++i)
      out[indices + i - 1] = from[i];
    return out;
  }

  Dims reduced(const Node& node) const {
    const bool is_arg = node.op == Op::kArgMax || node.op == Op::kArgMin;
    return without(operand(node, 0), places(node.attrs.ints(is_arg ? Attr::kAxis : Attr::kDims)));
  }

  Dims contracted(const Node& node) const {
    if (node.op != Op::kDotGeneral) return operand(node, 0) & Dims(1);
    const auto lhs_batch = node.attrs.ints(Attr::kLhsBatch);
    const auto rhs_batch = node.attrs.ints(Attr::kRhsBatch);
    const Dims lhs = operand(node, 0), rhs = operand(node, 1);
    Dims out;
    std::size_t to = 0;
    for (std::size_t i = 0; i < lhs_batch.size(); ++i)
      out[to++] = lhs[static_cast<std::size_t>(lhs_batch[i])] ||
                  rhs[static_cast<std::size_t>(rhs_batch[i])];
    const auto add_free = [&](std::size_t i, const Dims& from, const Dims& taken) {
      const auto rank = static_cast<std::size_t>(graph_[node.operands[i]].type.shape.rank());
      for (std::size_t d = 0; d < rank; ++d)
        if (!taken[d]) out[to++] = from[d];
    };
    add_free(0, lhs, places(lhs_batch) | places(node.attrs.ints(Attr::kLhsContract)));
    add_free(1, rhs, places(rhs_batch) | places(node.attrs.ints(Attr::kRhsContract)));
    return out;
  }

  const Graph& graph_;
  std::map<ValueId, Dims> known_;
};

class Finder {
 public:
  Finder(const TraceContext& context, ValueId count)
      : graph_(context.pending()), means_(context.means()), count_(bare(count)), dims_(graph_) {}

  struct Mean {
    ValueId at;
    std::int64_t elements;  ///< that were added
    double factor;          ///< the factor of the mean in the sum
    bool certain;
  };

  /// The mean over samples that `id` is a multiple of.
  std::optional<Mean> find(ValueId id, double factor = 1) {
    const Node& node = graph_[id];
    if (node.op == Op::kReduceSum) {
      const auto inner = find(node.operands[0], factor);
      return inner && !adds_samples(node) ? inner : std::nullopt;
    }
    if (node.op == Op::kAdd || node.op == Op::kSubtract) return of_sum(node, factor);
    if (node.op == Op::kMultiply) return of_product(id, factor);
    if (node.op == Op::kDivide) return of_quotient(id, factor);
    const bool passes = node.op == Op::kConvert || node.op == Op::kReshape ||
                        node.op == Op::kTranspose || node.op == Op::kNegate ||
                        node.op == Op::kOptimizationBarrier;
    return passes ? find(node.operands[0], factor) : std::nullopt;
  }

  /// The constant value of a node; nothing if it is known only at run time.
  std::optional<double> constant(ValueId id) const {
    const Node& node = graph_[bare(id)];
    if (node.op != Op::kConstant || node.type.shape.rank() != 0) return std::nullopt;
    return to_doubles(node.literal)[0];
  }
  bool depends_on_batch(ValueId id) const {
    std::vector<ValueId> open{id};
    std::vector<bool> seen(static_cast<std::size_t>(id) + 1, false);
    while (!open.empty()) {
      const ValueId next = open.back();
      open.pop_back();
      if (seen[static_cast<std::size_t>(next)]) continue;
      seen[static_cast<std::size_t>(next)] = true;
      const Node& node = graph_[next];
      if (node.op == Op::kInput && node.input_kind == InputKind::kBatch) return true;
      open.insert(open.end(), node.operands.begin(), node.operands.end());
    }
    return false;
  }

 private:
  /// The value without conversions of dtype and shape.
  ValueId bare(ValueId id) const {
    const Op op = graph_[id].op;
    return op == Op::kConvert || op == Op::kBroadcast || op == Op::kReshape
               ? bare(graph_[id].operands[0])
               : id;
  }
  bool adds_samples(const Node& reduce) {
    return (dims_.of(reduce.operands[0]) & places(reduce.attrs.ints(Attr::kDims))).any();
  }
  /// The sum in a quotient or product, if there is one.
  const Node* sum_behind(ValueId id) const {
    while (graph_[id].op == Op::kReshape || graph_[id].op == Op::kConvert)
      id = graph_[id].operands[0];
    return graph_[id].op == Op::kReduceSum ? &graph_[id] : nullptr;
  }
  std::int64_t elements(const Node& reduce) const {
    std::int64_t out = 1;
    for (const std::int64_t d : reduce.attrs.ints(Attr::kDims))
      out *= graph_[reduce.operands[0]].type.shape[static_cast<int>(d)];
    return out;
  }

  /// All that depends on the batch must be a mean; a penalty of parameters may be added.
  std::optional<Mean> of_sum(const Node& node, double factor) {
    std::optional<Mean> out;
    for (const ValueId operand : node.operands) {
      const auto mean = find(operand, factor);
      if (!mean && depends_on_batch(operand)) return std::nullopt;
      if (mean && (!out || mean->factor > out->factor)) out = mean;
    }
    return out;
  }

  std::optional<Mean> of_product(ValueId id, double factor) {
    const Node& node = graph_[id];
    if (std::ranges::binary_search(means_, id)) {
      const Node* const sum = sum_behind(node.operands[0]);
      LS_CHECK(sum != nullptr, "a mean without a sum");
      if (adds_samples(*sum)) return Mean{id, elements(*sum), factor, true};
      return find(sum->operands[0], factor);
    }
    const bool left = constant(node.operands[0]).has_value();
    const std::optional<double> by = constant(node.operands[left ? 0 : 1]);
    return by ? scaled(id, node.operands[left ? 1 : 0], std::abs(*by), factor, false)
              : std::nullopt;
  }

  std::optional<Mean> of_quotient(ValueId id, double factor) {
    const ValueId by = graph_[id].operands[1];
    if (const std::optional<double> number = constant(by))
      return scaled(id, graph_[id].operands[0], 1 / std::abs(*number), factor,
                    is_integer(graph_[bare(by)].type.dtype));
    const Node* const sum = sum_behind(graph_[id].operands[0]);
    if (sum == nullptr || !is_count(by) || !adds_samples(*sum)) return std::nullopt;
    return Mean{id, elements(*sum), factor, true};
  }

  /// `id`: value `of`, times `by`. `counts`: the divisor is an integer, so a count.
  std::optional<Mean> scaled(ValueId id, ValueId of, double by, double factor, bool counts) {
    const Node* const sum = sum_behind(of);
    if (sum != nullptr) {
      const std::int64_t added = elements(*sum);
      constexpr double kRounding = 1e-6;  // of f32
      if (added > 1 && std::abs(by * static_cast<double>(added) - 1) < kRounding &&
          adds_samples(*sum))
        return Mean{id, added, factor, counts};
    }
    return find(of, factor * by);
  }

  /// Whether it is the count, or the count with a guard against zero.
  bool is_count(ValueId id) const {
    id = bare(id);
    if (id == count_) return true;
    const Node& node = graph_[id];
    if (node.op != Op::kMaximum && node.op != Op::kSelect && node.op != Op::kAdd) return false;
    return std::ranges::any_of(node.operands,
                               [this](ValueId operand) { return bare(operand) == count_; });
  }

  const Graph& graph_;
  std::span<const ValueId> means_;
  ValueId count_;
  SampleDims dims_;
};

}  // namespace

std::optional<TwiceDivided> find_twice_divided(const Ratio& ratio, const Batch& batch,
                                               const std::string& what) {
  if (batch.fields().empty() || batch.fields().begin()->second.shape().rank() == 0)
    return std::nullopt;
  TraceContext& context = ratio.sum.context();
  const ValueId sum = context.node_of(ratio.sum), count = context.node_of(ratio.count);
  Finder finder(context, count);
  const auto mean = finder.find(sum);
  if (!mean) return std::nullopt;
  const auto samples = static_cast<double>(batch.size());
  const auto elements = static_cast<double>(mean->elements);
  const std::optional<double> number = finder.constant(count);
  if (!number && !finder.depends_on_batch(count)) return std::nullopt;
  if (number) {
    const bool counts = *number == elements || (samples > 1 && std::fmod(*number, samples) == 0);
    // Multiplied by this number it is a sum again.
    if (*number <= 1 || !counts || mean->factor > 0.99 * std::min(*number, std::max(samples, 2.0)))
      return std::nullopt;
  } else if (mean->factor > 0.99 * samples && samples > 1) {
    return std::nullopt;
  }
  const std::string counted =
      number ? fmt::format("is {}", *number) : std::string("counts the samples of the batch");
  return TwiceDivided{
      fmt::format("{}: the sum of {} is a mean of {} values over the micro-batch{}, and its count "
                  "{}, by which it is divided again: {} would be {} times too small; return the "
                  "sum of the values, batch.masked_sum(values) or sum(values), or a count of 1, "
                  "x.context().constant(1.0, DType::kI64)",
                  context.pending()[mean->at].origin.to_string(), what, mean->elements,
                  mean->certain ? "" : " (unless the divisor is a weight)", counted, what,
                  number ? fmt::format("{}", *number) : std::string("so many")),
      mean->certain};
}

}  // namespace lockstep
