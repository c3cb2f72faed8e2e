// Products with few rows on one side (few_rows_loops.h).
#pragma once

#include "core/ir/target.h"
#include "core/kernels/cpu/base/reference_kernel.h"

namespace lockstep {

/// A dot_general of a few rows with a matrix so large that reading it dominates the time; else
/// null.
KernelPtr plan_few_rows_dot(const Node& node, Types operands, const Target& target);

}  // namespace lockstep
