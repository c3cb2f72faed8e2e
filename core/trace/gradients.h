// Reverse-mode differentiation, graph to graph: the backward pass is more nodes of the same trace.
// Each op's rule is one function in gradient_rules_*.cpp; the table in gradients.cpp names them
// all.
#pragma once

#include <source_location>
#include <span>
#include <vector>

#include "core/base/api.h"
#include "core/trace/tensor.h"

namespace LOCKSTEP_API lockstep {

/// d loss / d target for each target, recorded in the targets' trace; zeros for a target that the
/// loss does not depend on. `loss` is a float scalar (differentiate the sum for per-element
/// losses). Targets must be inputs or values of the pending graph. Where a function is not
/// differentiable: abs gives 0, maximum and minimum 1/2 : 1/2 at ties, and nothing at ties with a
/// constant (relu at 0), reduce_max divides evenly between equal maxima. Error kUsage that names op
/// and line for an op without a gradient (arg_max, comparisons and integer ops pass nothing back
/// and are no error). Backward nodes carry the line and scope of the node that they differentiate.
std::vector<Tensor> gradients(const Tensor& loss, std::span<const Tensor> targets,
                              std::source_location where = std::source_location::current());

/// x, which gradients() treats as a constant.
Tensor stop_gradient(const Tensor& x, std::source_location where = std::source_location::current());

/// `copy`, whose gradient is that of `original`: for a value that exists in two float dtypes, such
/// as a parameter and its bf16 copy. Error kUsage if the shapes differ.
Tensor stand_in(const Tensor& copy, const Tensor& original,
                std::source_location where = std::source_location::current());

}  // namespace lockstep
