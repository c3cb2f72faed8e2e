// The kernel classes behind make_kernel but for groups (codegen/), one maker per idea. Each takes a
// node whose op it is for and the types of its operands.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "core/ir/target.h"
#include "core/kernels/kernel.h"

namespace lockstep {

using KernelPtr = std::shared_ptr<const Kernel>;
using Types = std::span<const Type>;

/// Reductions and arg reductions that are no groups: over middle dimensions.
KernelPtr make_reduce(const Node& node, Types operands, const Target& target);
/// Data movement but for broadcast, reshape, gather and scatter_add.
KernelPtr make_movement(const Node& node, Types operands);
KernelPtr make_gather(const Node& node, Types operands);
KernelPtr make_scatter_add(const Node& node, Types operands, const Target& target);
KernelPtr make_dot(const Node& node, Types operands, const Target& target);
KernelPtr make_convolution(const Node& node, Types operands, const Target& target);
KernelPtr make_pool(const Node& node, Types operands, const Target& target);
KernelPtr make_attention(const Node& node, Types operands, const Target& target);
/// Rarely used dtypes (f64, integers in dots) have no fast kernel: this one runs the oracle,
/// evaluate_reference_node, on one thread.
KernelPtr make_reference_kernel(const Node& node, Types operands, std::string name);

}  // namespace lockstep
