#include "core/trace/gradients.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/base/error.h"
#include "core/ir/group.h"
#include "core/trace/adjoint.h"
#include "core/trace/context.h"
#include "core/trace/elementwise.h"
#include "core/trace/gradient_rule.h"
#include "core/trace/ops.h"
#include "core/trace/origin_scope.h"
#include "core/trace/recomputation.h"

namespace lockstep {
namespace {

/// The node that takes the gradient of `id` in place of its operands: kNoValue for none; nothing if
/// there is no redirection.
std::optional<ValueId> find_redirection(const TraceContext& context, ValueId id) {
  const auto found = context.redirected_gradients().find(id);
  if (found == context.redirected_gradients().end()) return std::nullopt;
  return found->second;
}

/// Which pending values depend on a target through float-valued nodes.
std::vector<bool> find_dependents(const TraceContext& context, std::span<const ValueId> targets) {
  const Graph& graph = context.pending();
  std::vector<bool> out(graph.nodes.size(), false);
  for (const ValueId target : targets) out[static_cast<std::size_t>(target)] = true;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (out[i] || !is_float(graph.nodes[i].type.dtype)) continue;
    if (gradient_rule(graph.nodes[i].op) == nullptr) continue;
    if (const auto to = find_redirection(context, static_cast<ValueId>(i))) {
      out[i] = *to != kNoValue && out[static_cast<std::size_t>(*to)];
      continue;
    }
    // A further result depends on its call's operands, whatever the dtype of result 0.
    const ValueId command = group_of(graph, static_cast<ValueId>(i));
    for (const ValueId operand : graph[command].operands)
      if (out[static_cast<std::size_t>(operand)]) out[i] = true;
  }
  return out;
}

/// The dtype of a target that `id` is a conversion of, or stands in for; else its own.
DType gradient_dtype(const TraceContext& context, ValueId id, const std::vector<bool>& is_target) {
  const Graph& graph = context.pending();
  ValueId source = graph[id].op == Op::kConvert ? graph[id].operands[0] : kNoValue;
  if (const auto to = find_redirection(context, id)) source = *to;
  const bool of_target = source != kNoValue && is_target[static_cast<std::size_t>(source)];
  return graph[of_target ? source : id].type.dtype;
}

/// One walk back through the trace.
class BackwardPass {
 public:
  BackwardPass(TraceContext& context, std::span<const ValueId> targets)
      : context_(context),
        dependents_(find_dependents(context, targets)),
        is_target_(dependents_.size(), false),
        regions_(context.recomputed()),
        varying_(regions_.empty() ? std::vector<bool>{} : find_varying(context.pending())),
        recomputations_(regions_.size()),
        handles_(dependents_.size()),
        adjoint_(dependents_.size()) {
    for (const ValueId id : targets) is_target_[index_of(id)] = true;
  }

  /// `seed` is the root's gradient.
  void run(ValueId root, const Tensor& seed) {
    adjoint_[index_of(root)].add(seed);
    for (ValueId id = root; id >= 0; --id) {
      if (!dependents_[index_of(id)] || !adjoint_[index_of(id)].defined()) continue;
      pull_back(id);
      if (!is_target_[index_of(id)]) adjoint_[index_of(id)].clear();
    }
  }
  /// Undefined for what the root does not depend on.
  Tensor gradient(ValueId target) { return adjoint_[index_of(target)].sum(); }

 private:
  const Tensor& handle(ValueId id) {
    Tensor& out = handles_[index_of(id)];
    if (!out.defined()) out = context_.tensor_of(id);
    return out;
  }

  /// The region that value `id` is computed again with; null if it is of none.
  Recomputation* find_recomputation(ValueId id) {
    const auto after = std::ranges::upper_bound(regions_, id, {}, &RematRegion::begin);
    if (after == regions_.begin() || id >= std::prev(after)->end) return nullptr;
    auto& out = recomputations_[static_cast<std::size_t>(std::prev(after) - regions_.begin())];
    if (!out) out.emplace(context_, *std::prev(after), varying_);
    return &*out;
  }

  /// Adds the share that value `id` has in the gradients of its operands to theirs.
  void pull_back(ValueId id) {
    const Node node = context_.pending()[id];  // a copy: recording moves the pending nodes
    Origin origin = node.origin;
    origin.gradient = true;
    const OriginScope scope(context_, &origin);
    if (const auto to = find_redirection(context_, id)) {
      adjoint_[index_of(*to)].add(adjoint_[index_of(id)].sum());
      return;
    }
    const GradientRule rule = gradient_rule(node.op);
    if (rule == nullptr) return;
    const Tensor sum = adjoint_[index_of(id)].sum();
    Recomputation* const own = find_recomputation(id);
    const auto read = [&](ValueId value) {
      Recomputation* const again = own != nullptr ? own : find_recomputation(value);
      return again != nullptr ? context_.tensor_of(again->copy_of(value, sum)) : handle(value);
    };
    boost::container::small_vector<Tensor, 4> operands;
    boost::container::small_vector<bool, 4> needed;
    boost::container::small_vector<DType, 4> dtypes;
    for (const ValueId operand : node.operands) {
      operands.push_back(read(operand));
      needed.push_back(dependents_[index_of(operand)]);
      dtypes.push_back(gradient_dtype(context_, operand, is_target_));
    }
    const Tensor out = read(id);
    const Tensor grad = node.op == Op::kConvert ? sum : convert(sum, node.type.dtype);
    const Gradients result = rule({.node = node,
                                   .in = {operands.data(), operands.size()},
                                   .out = out,
                                   .grad = grad,
                                   .needed = {needed.data(), needed.size()},
                                   .dtypes = {dtypes.data(), dtypes.size()}});
    for (std::size_t i = 0; i < result.size(); ++i)
      if (needed[i] && result[i].defined()) adjoint_[index_of(node.operands[i])].add(result[i]);
  }

  TraceContext& context_;
  std::vector<bool> dependents_;
  std::vector<bool> is_target_;
  const std::vector<RematRegion> regions_;  ///< disjoint, sorted by begin
  const std::vector<bool> varying_;
  std::vector<std::optional<Recomputation>> recomputations_;  ///< by region, made when first needed
  std::vector<Tensor> handles_;  ///< made when first needed: most values are read several times
  // One per value; contributions are added in the order the users are met, last first. Those of
  // 16-bit values may be of f32 until they are complete.
  std::vector<Adjoint> adjoint_;
};

GradientRule movement_rule(MovementOp op) {
  switch (op) {
    case Op::kBroadcast: return gradient_broadcast;
    case Op::kReshape: return gradient_reshape;
    case Op::kTranspose: return gradient_transpose;
    case Op::kSlice: return gradient_slice;
    case Op::kDynamicSlice: return gradient_dynamic_slice;
    case Op::kDynamicUpdateSlice: return gradient_dynamic_update_slice;
    case Op::kPad: return gradient_pad;
    case Op::kConcatenate: return gradient_concatenate;
    case Op::kGather: return gradient_gather;
    case Op::kScatterAdd: return gradient_scatter_add;
  }
  __builtin_unreachable();
}

GradientRule contraction_rule(ContractionOp op) {
  switch (op) {
    case Op::kDotGeneral: return gradient_dot_general;
    case Op::kConvolution: return gradient_convolution;
    case Op::kConvolutionGradInput: return gradient_convolution_grad_input;
    case Op::kConvolutionGradWeight: return gradient_convolution_grad_weight;
  }
  __builtin_unreachable();
}

GradientRule window_rule(WindowOp op) {
  switch (op) {
    case Op::kMaxPool: return gradient_max_pool;
    case Op::kAvgPool: return gradient_avg_pool;
    case Op::kAvgPoolGrad: return gradient_avg_pool_grad;
    case Op::kMaxPoolGrad: return gradient_missing;
  }
  __builtin_unreachable();
}

GradientRule control_rule(ControlOp op) {
  switch (op) {
    case Op::kOptimizationBarrier: return gradient_barrier;
    case Op::kCall: return gradient_call;
    case Op::kFusion:
    case Op::kGroupResult:
    case Op::kHostCall: return gradient_missing;
  }
  __builtin_unreachable();
}

/// The rule of an op whose row in the op table says that it has one.
GradientRule rule_of_class(Op op) {
  switch (info_of(op).op_class) {
    case OpClass::kUnary: return gradient_unary;
    case OpClass::kBinary: return gradient_binary;
    case OpClass::kSelect: return gradient_select;
    case OpClass::kConvert: return gradient_convert;
    case OpClass::kMovement: return movement_rule(as<MovementOp>(op));
    case OpClass::kReduction: return gradient_reduce;
    case OpClass::kContraction: return contraction_rule(as<ContractionOp>(op));
    case OpClass::kWindow: return window_rule(as<WindowOp>(op));
    case OpClass::kAttention: return gradient_attention;
    case OpClass::kControl: return control_rule(as<ControlOp>(op));
    case OpClass::kLeaf:
    case OpClass::kCompare:
    case OpClass::kCollective: break;
  }
  LS_CHECK(false, "{} has no gradient rule", name_of(op));
  __builtin_unreachable();
}

}  // namespace

GradientRule gradient_rule(Op op) {
  switch (info_of(op).gradient) {
    case Gradient::kRule: return rule_of_class(op);
    case Gradient::kNothing: return nullptr;
    case Gradient::kMissing: return gradient_missing;
  }
  __builtin_unreachable();
}

std::vector<Tensor> gradients(const Tensor& loss, std::span<const Tensor> targets, Where where) {
  TraceContext& context = context_of("gradients", {&loss}, where);
  const LocationScope line(context, where);
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (!targets[i].defined())
      raise_undefined(fmt::format("target {} of the {} of gradients", i + 1, targets.size()),
                      context.origin());
  LS_USER_CHECK(is_float(loss.dtype()) && loss.shape().rank() == 0,
                "{}: gradients need a float scalar as loss, but it is {}",
                context.origin().to_string(), loss.type().to_string());
  const ValueId root = context.node_of(loss);
  std::vector<ValueId> target_ids;
  for (const Tensor& target : targets) target_ids.push_back(context.node_of(target));
  Origin origin = context.origin();
  origin.gradient = true;
  const OriginScope scope(context, &origin);
  BackwardPass pass(context, target_ids);
  pass.run(root, context.constant(1.0, loss.dtype()));

  std::vector<Tensor> out;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Tensor found = pass.gradient(target_ids[i]);
    out.push_back(found.defined() ? convert(found, targets[i].dtype())
                                  : context.filled(0.0, targets[i].type()));
  }
  return out;
}

namespace {

/// A separate node with x's value, which can get a redirection. Passes drop it.
ValueId fence(const Tensor& x) {
  return x.context().node_of(
      x.context().record(Op::kReshape, {x}, {{Attr::kShape, x.shape().sizes()}}));
}

}  // namespace

Tensor stop_gradient(const Tensor& x, Where where) {
  const LocationScope line("stop_gradient", {&x}, where);
  const ValueId node = fence(x);
  x.context().redirect_gradient(node, kNoValue);
  return x.context().tensor_of(node);
}

Tensor stand_in(const Tensor& copy, const Tensor& original, Where where) {
  TraceContext& context = context_of("stand_in", {&copy, &original}, where);
  const LocationScope line(context, where);
  LS_USER_CHECK(copy.shape() == original.shape(), "{}: {} cannot stand in for {}",
                context.origin().to_string(), copy.type().to_string(), original.type().to_string());
  const ValueId to = context.node_of(original);
  const ValueId node = fence(copy);
  context.redirect_gradient(node, to);
  return context.tensor_of(node);
}

}  // namespace lockstep
