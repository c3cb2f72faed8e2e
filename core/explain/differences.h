// What two recorded graphs differ in. Differences that follow from others are marked: where a
// length went from 57 to 61, so did the shapes of hundreds of broadcasts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/explain/alignment.h"
#include "core/explain/descriptor.h"
#include "core/explain/difference.h"
#include "core/explain/size_changes.h"

namespace lockstep {

/// A graph, the relative that it is told from, and which nodes stand for which.
struct Comparison {
  const GraphDescriptor& old;
  const GraphDescriptor& now;
  const Alignment& alignment;
};

/// All differences: those that are causes first, in the order of Cause and then of the program;
/// never none.
std::vector<Difference> find_differences(const Comparison& graphs);

/// Those of inputs that stand for each other: types and kinds. Adds to `sizes` how they changed.
std::vector<Difference> compare_inputs(const Comparison& graphs, SizeChanges& sizes);

/// Those of nodes that stand for each other: types and kinds of inputs, attributes, constants,
/// operands.
std::vector<Difference> compare_leaves(const Comparison& graphs);

/// Nodes that are in one graph only, the order of those in both, and outputs. `leaves`: what is
/// known already.
std::vector<Difference> compare_structure(const Comparison& graphs,
                                          const std::vector<Difference>& leaves);

/// "multiply f32[8,64] model.cpp:41 (h.3)"; an input by its name.
std::string describe(const GraphDescriptor& graph, ValueId id);
/// "multiply model.cpp:41 (h.3)", where the type is what differs.
std::string describe_untyped(const GraphDescriptor& graph, ValueId id);

std::int64_t count_elements(std::span<const std::int64_t> sizes);

/// The first op that takes the value; kNoValue if none does.
ValueId first_user(const GraphDescriptor& graph, ValueId value);

}  // namespace lockstep
