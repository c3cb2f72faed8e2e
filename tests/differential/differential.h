// Compiled against what the IR says: a random graph through the whole compiler and the production
// kernels, as `lockstep ir run --kernels compiled` runs it, and its estimates.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/differential/spoiled_plan.h"
#include "tests/graphs/random_graph.h"

namespace lockstep::testing {

/// How many graphs, from which seed: `test_differential --graphs=N --seed=S [--announce]`.
struct Campaign {
  int graphs = 400;
  std::uint64_t seed = 1;
  bool announce = false;  ///< print the number of every graph before it runs: for crashes
};
const Campaign& campaign();
void read_campaign(int argc, char** argv);

/// Graph number `number` of the campaign, with its shrinks.
rc::Shrinkable<RandomGraph> campaign_graph(int number);

/// Compiles and runs `compiled` (the graph itself, or one that a planted pass made of it) and
/// compares with the estimates of `graph`: what is wrong, or nothing. One and two threads must give
/// equal bits.
std::string find_disagreement(const RandomGraph& graph, const Graph& compiled,
                              const Spoil& spoil = {});

/// Of the graph as it is; an Error of the compiler is a failure, too.
std::string find_failure(const RandomGraph& graph);

/// The smallest graph found by shrinking for which `fails` says something.
RandomGraph shrink(const rc::Shrinkable<RandomGraph>& failing,
                   const std::function<bool(const RandomGraph&)>& fails);

}  // namespace lockstep::testing
