// Two graphs of the same ops of which some take other values: whether only the order differs in
// which parts were recorded, or values have each other's roles.
#pragma once

#include <optional>

#include "core/explain/alignment.h"
#include "core/explain/descriptor.h"

namespace lockstep {

/// Whether the graphs compute the same but for the order of their nodes, of operands of commutative
/// ops, and of the terms of sums over several ops of a line. Sizes, numbers and attributes may
/// differ.
bool are_equal_but_for_order(const GraphDescriptor& a, const GraphDescriptor& b);

/// Of graphs that are op by op the same, by line and scope, whatever the ops take. Inputs
/// correspond by name, unnamed ones by their order. Empty if that does not hold.
std::optional<Alignment> align_in_place(const GraphDescriptor& old, const GraphDescriptor& now);

}  // namespace lockstep
