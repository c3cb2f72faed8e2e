// The arithmetic of constant folding.
#pragma once

#include <optional>
#include <span>

#include "core/ir/graph.h"

namespace lockstep {

/// node(operands) for an elementwise node (convert, compare and select included) on literals of
/// one shape; nothing if the op, or an element, has no exactly specified result (see fold.h).
std::optional<HostTensor> fold_elementwise(const Node& node, std::span<const HostTensor> operands);

}  // namespace lockstep
