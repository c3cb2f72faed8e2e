// The kernel of a node, chosen among all that there are.
#pragma once

#include <memory>
#include <span>

#include "core/kernels/base/kernel.h"

namespace lockstep {

/// The production kernel for a node with these operand types, planned: it cannot run yet. Internal
/// error for leaves, views, calls and collectives: those are no kernels.
std::unique_ptr<Kernel> plan_kernel(const Node& node, std::span<const Type> operands,
                                    const Target& target);

/// The same with its code.
std::shared_ptr<const Kernel> make_kernel(const Node& node, std::span<const Type> operands,
                                          const Target& target);

}  // namespace lockstep
