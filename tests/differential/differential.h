// Compiled results against the definition of the IR: a random graph through the whole compiler and
// the production kernels, as `lockstep ir run --kernels compiled` runs it, and its estimates.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/differential/spoiled_plan.h"
#include "tests/graphs/random_graph.h"

namespace lockstep::testing {

/// The number of graphs and the seed: `test_differential --graphs=N --seed=S [--announce]`.
struct Campaign {
  int graphs = 400;
  std::uint64_t seed = 1;
  bool announce = false;  ///< print the number of every graph before it runs: for crashes
};
const Campaign& campaign();
void read_campaign(int argc, char** argv);

/// Graph number `number` of the campaign, with its shrinks.
rc::Shrinkable<RandomGraph> campaign_graph(int number);

/// Compiles and runs `compiled` (the graph itself, or the result of a planted pass) and compares
/// with the estimates of `graph`: returns the error, or nothing. One and two threads must give
/// equal bits.
std::string find_disagreement(const RandomGraph& graph, const Graph& compiled,
                              const Spoil& spoil = {});

/// The same for the unchanged graph; an Error of the compiler is a failure, too.
std::string find_failure(const RandomGraph& graph);

/// The smallest graph found by shrinking for which `fails` returns an error.
RandomGraph shrink(const rc::Shrinkable<RandomGraph>& failing,
                   const std::function<bool(const RandomGraph&)>& fails);

}  // namespace lockstep::testing
