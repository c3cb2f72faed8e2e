// Numbers and tables that are part of a recorded graph: how they are printed, and from what they
// were computed.
#pragma once

#include <cstdint>
#include <string>

#include "core/explain/descriptor.h"
#include "core/explain/difference.h"

namespace lockstep {

/// Of an op; empty if it has none.
IntView find_attr(const GraphDescriptor& graph, ValueId id, Attr attr);

/// The number of elements of its operand that the op combines into one.
std::int64_t reduced(const GraphDescriptor& graph, ValueId id, IntView dims);

/// The constant that a value repeats; kNoValue if it is something else.
ValueId constant_of(const GraphDescriptor& graph, ValueId id);

/// Whether it is 1/n of a mean: a sum of n elements is multiplied by it.
bool is_of_mean(const GraphDescriptor& graph, ValueId number);

/// Whether the values are whole numbers, or their inverses.
bool are_counts(const GraphDescriptor::Literal& before, const GraphDescriptor::Literal& now);

/// Whether one is the other in the dtype of one of them, rounded.
bool are_equal_but_for_dtype(const GraphDescriptor::Literal& before, DType dtype_before,
                             const GraphDescriptor::Literal& now, DType dtype);

/// Whether people write such numbers: small whole ones, and those of few digits.
bool is_plain(double value);

/// The values of a small literal; else, or if the types differ, the type.
std::string print_literal(const GraphDescriptor& graph, ValueId id, bool same_type);

/// For two tables of one type: the first element that differs, and the number of those that do.
void tell_elements(const GraphDescriptor::Literal& before, const GraphDescriptor::Literal& now,
                   Difference& difference);

}  // namespace lockstep
