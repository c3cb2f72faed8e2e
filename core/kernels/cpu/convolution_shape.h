// The request to oneDNN for a node that is a convolution or one of its gradients.
#pragma once

#include <span>

#include "core/ir/graph.h"
#include "core/ir/target.h"
#include "core/kernels/cpu/base/onednn.h"

namespace lockstep {

/// bf16 if the machine has units for it and oneDNN's result is correct, f32 for all other floats;
/// the result is bf16 only if the node's is and the operands are.
ConvolutionShape convolution_shape(const Node& node, std::span<const Type> operands,
                                   const Target& target);

}  // namespace lockstep
