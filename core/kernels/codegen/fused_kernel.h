// Kernels of generated code: for groups, and for single elementwise ops and reductions as groups of
// one.
#pragma once

#include <memory>
#include <span>

#include "core/kernels/base/kernel.h"

namespace lockstep::codegen {

/// For kFusion, elementwise ops, broadcast, iota, random_bits, and reductions whose dimensions are
/// the first, the last or all; see is_group.
std::unique_ptr<Kernel> plan_group_kernel(const Node& node, std::span<const Type> operands);

/// Whether plan_group_kernel supports a node: one of the above, without f64.
bool is_group(const Node& node, std::span<const Type> operands);

}  // namespace lockstep::codegen
