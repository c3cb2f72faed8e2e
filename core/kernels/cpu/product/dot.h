// dot_general: products of matrices.
#pragma once

#include "core/ir/target.h"
#include "core/kernels/cpu/base/reference_kernel.h"

namespace lockstep {

/// The kernel of a kDotGeneral.
KernelPtr plan_dot(const Node& node, Types operands, const Target& target);

}  // namespace lockstep
