// The kernel classes behind plan_kernel, except groups (codegen/) and products (product/), one
// function for each. Each takes a node of an op that it supports, and the types of its operands.
#pragma once

#include "core/ir/target.h"
#include "core/kernels/cpu/base/reference_kernel.h"

namespace lockstep {

/// Reductions and arg reductions that are not groups: over middle dimensions.
KernelPtr plan_reduce(const Node& node, Types operands, const Target& target);
/// Data movement, except broadcast, reshape, gather and scatter_add.
KernelPtr plan_movement(const Node& node, Types operands);
KernelPtr plan_gather(const Node& node, Types operands);
KernelPtr plan_scatter_add(const Node& node, Types operands, const Target& target);
KernelPtr plan_convolution(const Node& node, Types operands, const Target& target);
KernelPtr plan_pool(const Node& node, Types operands, const Target& target);
KernelPtr plan_attention(const Node& node, Types operands, const Target& target);

/// The one of all that serves the node; null if it is no kernel.
KernelPtr plan_cpu_kernel(const Node& node, Types operands, const Target& target);

}  // namespace lockstep
