// Rarely used dtypes (f64, integers in dots) have no fast kernel: the oracle is their kernel.
#pragma once

#include <string>

#include "core/kernels/cpu/kernels.h"

namespace lockstep {

/// Runs the node by evaluate_reference_node on one thread.
KernelPtr make_reference_kernel(const Node& node, Types operands, std::string name);

}  // namespace lockstep
