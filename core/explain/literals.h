// Numbers and tables that are part of a recorded graph: what they are printed as, and what they
// were computed from.
#pragma once

#include <cstdint>
#include <string>

#include "core/explain/descriptor.h"
#include "core/explain/difference.h"

namespace lockstep {

/// Of an op; empty if it has none.
IntView find_attr(const GraphDescriptor& graph, ValueId id, Attr attr);

/// How many elements of its operand the op makes one of.
std::int64_t reduced(const GraphDescriptor& graph, ValueId id, IntView dims);

/// The constant that a value repeats; kNoValue if it is something else.
ValueId constant_of(const GraphDescriptor& graph, ValueId id);

/// Whether it is 1/n of a mean: a sum of n elements is multiplied by it.
bool is_of_mean(const GraphDescriptor& graph, ValueId number);

/// Whole numbers, or their inverses.
bool are_counts(const GraphDescriptor::Literal& before, const GraphDescriptor::Literal& now);

/// The values of a small one; else, and unless the types are the same, the type.
std::string print_literal(const GraphDescriptor& graph, ValueId id, bool same_type);

/// Of two tables of one type: the first element that is another one, and how many are.
void tell_elements(const GraphDescriptor::Literal& before, const GraphDescriptor::Literal& now,
                   Difference& difference);

}  // namespace lockstep
