// The oracle as a kernel, for what has no fast one.
#pragma once

#include <memory>
#include <span>

#include "core/kernels/base/kernel.h"

namespace lockstep {

/// What functions that plan kernels return, and the types of a node's operands.
using KernelPtr = std::unique_ptr<Kernel>;
using Types = std::span<const Type>;

/// Rarely used dtypes (f64, integers in dots) have no fast kernel: this one runs the oracle,
/// evaluate_reference_node, on one thread.
KernelPtr plan_reference_kernel(const Node& node, Types operands, WorkClass work);

}  // namespace lockstep
