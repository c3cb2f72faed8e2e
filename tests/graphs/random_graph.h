// Valid random graphs and their inputs, for tests that must hold for all graphs: every op and
// dtype, sizes 0 and 1 and odd ones, shared subgraphs, many outputs, updates, and the patterns of
// models.
#pragma once

#include <rapidcheck.h>

#include <iosfwd>
#include <vector>

#include "core/ir/graph.h"
#include "tests/roundoff/estimate.h"

namespace lockstep::testing {

struct RandomGraph {
  Graph graph;
  std::vector<HostTensor> inputs;
};

/// With about this many nodes or a few more; every estimate of its values exists. Equal seeds give
/// equal graphs.
RandomGraph random_graph(std::uint64_t seed, int nodes);

/// Graphs of 10 to 60 nodes, all sizes equally likely. Shrinks (see simpler()).
rc::Gen<RandomGraph> random_graphs();

/// Smaller graphs that compute a part of it: only one output; a value replaced by an input that
/// holds it; a node left out. All with estimates.
std::vector<RandomGraph> simpler(const RandomGraph& graph);

/// The text form, and the inputs' elements as comments.
std::ostream& operator<<(std::ostream& out, const RandomGraph& graph);

}  // namespace lockstep::testing
