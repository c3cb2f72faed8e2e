// The differences of two recorded graphs. Differences that follow from others are marked: if a
// length changed from 57 to 61, so did the shapes of hundreds of broadcasts.
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

class ModeChange;
class RecordedOps;

/// A graph, the relative that it is compared with, and the corresponding nodes.
struct Comparison {
  const GraphDescriptor& old;
  const GraphDescriptor& now;
  const Alignment& alignment;

  /// `graph` is one of the two.
  bool is_now(const GraphDescriptor& graph) const { return &graph == &now; }
  const GraphDescriptor& other(const GraphDescriptor& graph) const {
    return is_now(graph) ? old : now;
  }
  /// For each of its nodes that of the other graph; kNoValue: there is none.
  const std::vector<ValueId>& to_other(const GraphDescriptor& graph) const {
    return is_now(graph) ? alignment.to_old : alignment.to_new;
  }
};

/// Whether a difference has this cause and follows from no other.
bool has_root(const std::vector<Difference>& differences, Cause cause);

/// All differences, at least one: first those that are causes, in the order of Cause and then of
/// the program.
std::vector<Difference> find_differences(const Comparison& graphs);

/// Differences of corresponding inputs: types and kinds. Adds the changes of sizes to `sizes`.
std::vector<Difference> compare_inputs(const Comparison& graphs, SizeChanges& sizes);

/// Differences of corresponding nodes: types and kinds of inputs, attributes, constants, operands.
std::vector<Difference> compare_leaves(const Comparison& graphs, const RecordedOps& recorded,
                                       const ModeChange& mode);

/// Nodes that are in one graph only, the order of those in both, and outputs. `leaves`: the
/// differences found already.
std::vector<Difference> compare_structure(const Comparison& graphs, const RecordedOps& recorded,
                                          const ModeChange& mode,
                                          const std::vector<Difference>& leaves);

/// "multiply f32[8,64] model.cpp:41 (h.3)"; an input by its name.
std::string describe(const GraphDescriptor& graph, ValueId id);
/// "multiply model.cpp:41 (h.3)", for nodes whose type differs.
std::string describe_untyped(const GraphDescriptor& graph, ValueId id);

/// With its place among those of the same description: "add f32[8] model.cpp:41, number 2 of 3".
std::string describe_numbered(const GraphDescriptor& graph, ValueId id);

/// Whether it is the reshape to the same shape that stop_gradient() records.
bool is_stop_gradient(const GraphDescriptor& graph, ValueId id);

std::int64_t count_elements(std::span<const std::int64_t> sizes);

/// The first op that takes the value; kNoValue if none does.
ValueId first_user(const GraphDescriptor& graph, ValueId value);

}  // namespace lockstep
