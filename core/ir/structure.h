// Identity of graphs: whether two recorded steps have the same compiled program. Structure is ops,
// types, operands, attributes, literal bytes, bodies, input kinds, input order, outputs and
// updates. Labels (names, dimension names, source lines, scopes) are ignored.
#pragma once

#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/ir/graph.h"

namespace lockstep {

/// 128 bits over the whole structure; equal for structurally equal graphs, in this process and
/// in any other of the same build. Microseconds per hundred nodes.
Hash128 structural_hash(const Graph& graph);

/// The whole structure as bytes: equal for structurally equal graphs and for no others, in this
/// process and in any other of the same build.
std::string structure_bytes(const Graph& graph);

/// The full comparison that must confirm a hash hit.
bool structurally_equal(const Graph& a, const Graph& b);

/// One hash per node over what it computes: op, attributes, type, literal, body, input kind and
/// place among the inputs, and the hashes of its operands. The first node of a new graph whose hash
/// an older graph does not hold is the root cause of their difference.
std::vector<Hash128> node_hashes(const Graph& graph);

/// The hash of what a node computes from the operands with these numbers; labels ignored.
Hash128 computation_hash(const Node& node);

/// Whether two nodes compute the same from operands with the same numbers. Inputs are never the
/// same.
bool same_computation(const Node& a, const Node& b);

}  // namespace lockstep
