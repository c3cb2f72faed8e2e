// Groups, and elementwise ops and reductions as groups of one, as kernels of generated code.
#pragma once

#include <memory>
#include <span>

#include "core/kernels/codegen/code_cache.h"
#include "core/kernels/kernel.h"

namespace lockstep::codegen {

/// For kFusion, elementwise ops, broadcast, iota, random_bits, and reductions whose dimensions are
/// the first, the last or all; see is_group. `object_code` is what an equal kernel gave before, or
/// empty.
std::shared_ptr<const Kernel> make_group_kernel(const Node& node, std::span<const Type> operands,
                                                CodeCache& codes, std::string_view object_code,
                                                Log& log);

/// Whether make_group_kernel serves a node: one of the above, without f64.
bool is_group(const Node& node, std::span<const Type> operands);

}  // namespace lockstep::codegen
