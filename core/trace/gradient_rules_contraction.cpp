#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/ir/infer.h"
#include "core/trace/context.h"
#include "core/trace/gradient_rule.h"
#include "core/trace/gradients.h"

namespace lockstep {
namespace {

Ints range(std::int64_t first, std::size_t count) {
  Ints out(count);
  std::iota(out.begin(), out.end(), first);
  return out;
}

Ints copy_of(IntView list) {
  return {list.begin(), list.end()};
}

Attrs with_shape(const Attrs& attrs, const Shape& shape) {
  Attrs out = attrs;
  out.set(Attr::kShape, shape.sizes());
  return out;
}

Tensor record(const GradientCall& c, Op op, std::initializer_list<Tensor> operands, Attrs attrs) {
  return c.grad.context().record(op, operands, std::move(attrs));
}

/// dot_general's gradient for one side, contracting the other operand's free dimensions with those
/// of the result. The batch, own free and own contracted dimensions remain. The order of the
/// factors determines which of the latter two comes first; an order that needs no transpose is
/// preferred.
Tensor gradient_dot_side(const GradientCall& c, bool left) {
  const Attrs& attrs = c.node.attrs;
  const auto batch = attrs.ints(left ? Attr::kLhsBatch : Attr::kRhsBatch);
  const auto contract = attrs.ints(left ? Attr::kLhsContract : Attr::kRhsContract);
  const Ints other_batch = copy_of(attrs.ints(left ? Attr::kRhsBatch : Attr::kLhsBatch));
  const auto other_contract = attrs.ints(left ? Attr::kRhsContract : Attr::kLhsContract);
  const DotDims dims = dot_dims(c.in[0].type(), c.in[1].type(), attrs);
  const auto& own_free = left ? dims.lhs_free : dims.rhs_free;
  const auto& other_free = left ? dims.rhs_free : dims.lhs_free;
  const Tensor& other = c.in[left ? 1 : 0];
  const DType dtype = c.dtypes[left ? 0 : 1];
  const Tensor grad = convert(c.grad, other.dtype());

  const std::size_t nb = batch.size();
  // The other operand's contracted dimensions come out in its own order.
  Ints sorted_contract = copy_of(other_contract);
  std::sort(sorted_contract.begin(), sorted_contract.end());
  // Dimension i of the operand is dimension places[i] of the product.
  const auto find_places = [&](bool free_first) {
    const std::size_t free_at = free_first ? nb : nb + contract.size();
    const std::size_t contract_at = free_first ? nb + own_free.size() : nb;
    Ints places(batch.size() + own_free.size() + contract.size());
    const auto put = [&](std::int64_t dim, std::size_t at) {
      places[static_cast<std::size_t>(dim)] = static_cast<std::int64_t>(at);
    };
    for (std::size_t i = 0; i < nb; ++i) put(batch[i], i);
    for (std::size_t i = 0; i < own_free.size(); ++i) put(own_free[i], free_at + i);
    for (std::size_t i = 0; i < contract.size(); ++i) {
      const auto found =
          std::find(sorted_contract.begin(), sorted_contract.end(), other_contract[i]);
      put(contract[i], contract_at + static_cast<std::size_t>(found - sorted_contract.begin()));
    }
    return places;
  };
  Ints places = find_places(true);
  const bool free_first = std::is_sorted(places.begin(), places.end());
  if (!free_first) places = find_places(false);
  const auto grad_free = static_cast<std::int64_t>(left ? nb + own_free.size() : nb);
  const Ints grad_contract = range(grad_free, other_free.size());
  const Ints free(other_free.begin(), other_free.end());
  const Tensor dot =
      free_first
          ? dot_general(grad, other, {range(0, nb), other_batch, grad_contract, free, dtype})
          : dot_general(other, grad, {other_batch, range(0, nb), free, grad_contract, dtype});
  return std::is_sorted(places.begin(), places.end()) ? dot : transpose(dot, places);
}

}  // namespace

Gradients gradient_dot_general(const GradientCall& c) {
  return {c.needed[0] ? gradient_dot_side(c, true) : Tensor(),
          c.needed[1] ? gradient_dot_side(c, false) : Tensor()};
}

// The gradients of a convolution are linear in both operands, and so differentiate into each other:
// each rule computes its operands' gradients with the two ops that are not its own. `operands` are
// of the forward dtype; a result's gradient in another dtype is converted to it.
namespace {

Tensor record_convolution(const GradientCall& c, Op op, const Tensor& a, const Tensor& b,
                          std::size_t side) {
  const DType dtype = c.in[0].dtype();
  Attrs attrs = c.node.attrs;
  if (op != Op::kConvolution) attrs = with_shape(attrs, c.in[side].shape());
  if (c.dtypes[side] != dtype || attrs.has(Attr::kTo)) attrs.set_dtype(c.dtypes[side]);
  return record(c, op, {convert(a, dtype), convert(b, dtype)}, std::move(attrs));
}

}  // namespace

Gradients gradient_convolution(const GradientCall& c) {
  Gradients out(2);
  if (c.needed[0]) out[0] = record_convolution(c, Op::kConvolutionGradInput, c.grad, c.in[1], 0);
  if (c.needed[1]) out[1] = record_convolution(c, Op::kConvolutionGradWeight, c.in[0], c.grad, 1);
  return out;
}

Gradients gradient_convolution_grad_input(const GradientCall& c) {
  Gradients out(2);
  if (c.needed[0]) out[0] = record_convolution(c, Op::kConvolution, c.grad, c.in[1], 0);
  if (c.needed[1]) out[1] = record_convolution(c, Op::kConvolutionGradWeight, c.grad, c.in[0], 1);
  return out;
}

Gradients gradient_convolution_grad_weight(const GradientCall& c) {
  Gradients out(2);
  if (c.needed[0]) out[0] = record_convolution(c, Op::kConvolutionGradInput, c.in[1], c.grad, 0);
  if (c.needed[1]) out[1] = record_convolution(c, Op::kConvolution, c.in[0], c.grad, 1);
  return out;
}

Gradients gradient_max_pool(const GradientCall& c) {
  return {record(c, Op::kMaxPoolGrad, {c.in[0], c.grad}, c.node.attrs)};
}

Gradients gradient_avg_pool(const GradientCall& c) {
  return {record(c, Op::kAvgPoolGrad, {c.grad}, with_shape(c.node.attrs, c.in[0].shape()))};
}

Gradients gradient_avg_pool_grad(const GradientCall& c) {
  return {record(c, Op::kAvgPool, {c.grad}, c.node.attrs)};
}

Gradients gradient_attention(const GradientCall& c) {
  const bool packed = c.in[0].shape().rank() == 5;
  std::vector<Tensor> operands(c.in.begin(), c.in.end());
  operands.insert(operands.begin() + (packed ? 1 : 3), {c.out, c.grad});
  const Tensor all = c.grad.context().record(Op::kAttentionGrad, operands, c.node.attrs);
  Gradients out(c.in.size());
  if (packed) {
    out[0] = all;
    return out;
  }
  std::int64_t at = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t count = c.in[i].shape().elements();
    out[i] = reshape(slice_dim(all, 0, at, at + count), c.in[i].shape());
    at += count;
  }
  return out;
}

Gradients gradient_barrier(const GradientCall& c) {
  return {optimization_barrier(c.grad)};
}

// The body is replayed in the trace and differentiated there. Its operands are fenced by reshapes
// to their own shape, so that one operand's dependence on another is not counted twice.
Gradients gradient_call(const GradientCall& c) {
  const Graph& body = *c.node.body;
  TraceContext& context = c.grad.context();
  std::vector<Tensor> values(body.nodes.size());
  std::vector<Tensor> fenced;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    fenced.push_back(record(c, Op::kReshape, {c.in[i]}, {{Attr::kShape, c.in[i].shape().sizes()}}));
    values[static_cast<std::size_t>(body.inputs[i])] = fenced.back();
  }
  for (std::size_t i = 0; i < body.nodes.size(); ++i) {
    const Node& node = body.nodes[i];
    if (node.op == Op::kInput) continue;
    std::vector<Tensor> operands;
    for (const ValueId id : node.operands) operands.push_back(values[static_cast<std::size_t>(id)]);
    if (node.op == Op::kHostCall) {
      const std::vector<Tensor> results = context.record_host_call(node.attrs, operands);
      std::ranges::copy(results, values.begin() + static_cast<std::ptrdiff_t>(i));
      i += results.size() - 1;
      continue;
    }
    values[i] = node.op == Op::kConstant ? context.constant(node.literal)
                : node.op == Op::kCall   ? call(node.body, operands)
                                         : context.record(node.op, operands, node.attrs);
  }
  const Tensor& out = values[static_cast<std::size_t>(body.outputs[0])];
  const std::vector<Tensor> grads = gradients(sum(out * c.grad), fenced);
  return {grads.begin(), grads.end()};
}

Gradients gradient_missing(const GradientCall& c) {
  const Graph& graph = c.in[0].context().pending();
  const bool further = c.node.op == Op::kGroupResult;  // in a trace, of a host_call
  const Node& node = further ? graph[c.node.operands[0]] : c.node;
  LS_USER_CHECK(node.op != Op::kHostCall,
                "{}: host_call has no gradient, but one of {} version {} is requested: put "
                "stop_gradient() around its operands or its result",
                node.origin.to_string(), node.attrs.text(Attr::kFunction),
                node.attrs.integer(Attr::kVersion));
  raise(ErrorKind::kUsage, "{}: {} has no gradient", node.origin.to_string(), name_of(node.op));
}

}  // namespace lockstep
