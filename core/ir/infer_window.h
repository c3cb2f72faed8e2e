// Result shapes of contractions, pooling and attention; the other half of infer.h.
#pragma once

#include <span>
#include <string>

#include "core/ir/graph.h"

namespace lockstep {

/// "dot_general(f32[8,64], f32[32,8])", the head of every type error.
std::string describe_application(Op op, std::span<const Type> operands);

Shape infer_contraction(Op op, std::span<const Type> operands, const Attrs& attrs);
Shape infer_pool(Op op, std::span<const Type> operands, const Attrs& attrs);
Shape infer_attention(Op op, std::span<const Type> operands, const Attrs& attrs);

/// Output size of one spatial dimension: floor((size + padding - dilation * (window - 1) - 1) /
/// stride) + 1, or 0 if the window does not fit.
std::int64_t window_output_size(std::int64_t size, std::int64_t window, std::int64_t stride,
                                std::int64_t padding, std::int64_t dilation);

}  // namespace lockstep
