// The parameter and the result of a gradient rule. Internal to core/trace.
#pragma once

#include <boost/container/small_vector.hpp>
#include <span>

#include "core/trace/elementwise.h"
#include "core/trace/ops.h"

namespace lockstep {

/// One node of the backward pass: its operands, its result, and the gradient of the loss with
/// respect to the result (same type; a convert's may be of a wider dtype).
struct GradientCall {
  const Node& node;
  std::span<const Tensor> in;
  const Tensor& out;
  const Tensor& grad;
  /// Whether operand i needs a gradient at all.
  std::span<const bool> needed;
  /// The dtype in which operand i's gradient should be computed: the operand's own, or that of the
  /// target if the operand is a converted target (a bf16 copy of an f32 parameter).
  std::span<const DType> dtypes;
};

/// One gradient per operand; undefined if there is none. Its dtype is the operand's or a wider one:
/// gradients of a 16-bit value are added as they are and rounded once.
using Gradients = boost::container::small_vector<Tensor, 3>;
using GradientRule = Gradients (*)(const GradientCall&);

/// The op's rule; null for ops that pass nothing back (leaves, comparisons, arg_max, ...).
GradientRule gradient_rule(Op op);

// By file: gradient_rules_elementwise.cpp
Gradients gradient_unary(const GradientCall& c);
Gradients gradient_binary(const GradientCall& c);
Gradients gradient_select(const GradientCall& c);
Gradients gradient_convert(const GradientCall& c);
// gradient_rules_movement.cpp
Gradients gradient_broadcast(const GradientCall& c);
Gradients gradient_reshape(const GradientCall& c);
Gradients gradient_transpose(const GradientCall& c);
Gradients gradient_slice(const GradientCall& c);
Gradients gradient_dynamic_slice(const GradientCall& c);
Gradients gradient_dynamic_update_slice(const GradientCall& c);
Gradients gradient_pad(const GradientCall& c);
Gradients gradient_concatenate(const GradientCall& c);
Gradients gradient_gather(const GradientCall& c);
Gradients gradient_scatter_add(const GradientCall& c);
Gradients gradient_reduce(const GradientCall& c);
// gradient_rules_contraction.cpp
Gradients gradient_dot_general(const GradientCall& c);
Gradients gradient_convolution(const GradientCall& c);
Gradients gradient_convolution_grad_input(const GradientCall& c);
Gradients gradient_convolution_grad_weight(const GradientCall& c);
Gradients gradient_max_pool(const GradientCall& c);
Gradients gradient_avg_pool(const GradientCall& c);
Gradients gradient_avg_pool_grad(const GradientCall& c);
Gradients gradient_attention(const GradientCall& c);
Gradients gradient_barrier(const GradientCall& c);
Gradients gradient_call(const GradientCall& c);
/// Throws: the op can be differentiated in principle, but not by lockstep.
Gradients gradient_missing(const GradientCall& c);

}  // namespace lockstep
