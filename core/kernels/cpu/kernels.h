// The kernel classes behind plan_kernel, except groups (codegen/), one function for each. Each
// takes a node of an op that it supports, and the types of its operands.
#pragma once

#include <memory>
#include <span>

#include "core/ir/target.h"
#include "core/kernels/base/kernel.h"

namespace lockstep {

using KernelPtr = std::unique_ptr<Kernel>;
using Types = std::span<const Type>;

/// Reductions and arg reductions that are not groups: over middle dimensions.
KernelPtr plan_reduce(const Node& node, Types operands, const Target& target);
/// Data movement, except broadcast, reshape, gather and scatter_add.
KernelPtr plan_movement(const Node& node, Types operands);
KernelPtr plan_gather(const Node& node, Types operands);
KernelPtr plan_scatter_add(const Node& node, Types operands, const Target& target);
KernelPtr plan_dot(const Node& node, Types operands, const Target& target);
KernelPtr plan_convolution(const Node& node, Types operands, const Target& target);
KernelPtr plan_pool(const Node& node, Types operands, const Target& target);
KernelPtr plan_attention(const Node& node, Types operands, const Target& target);
/// Rarely used dtypes (f64, integers in dots) have no fast kernel: this one runs the oracle,
/// evaluate_reference_node, on one thread.
KernelPtr plan_reference_kernel(const Node& node, Types operands, WorkClass work);

/// The one of these that serves the node; null if it is no kernel.
KernelPtr plan_cpu_kernel(const Node& node, Types operands, const Target& target);

}  // namespace lockstep
