// The passes in their order, and the runner that times, verifies and dumps once for all.
#pragma once

#include <set>
#include <string>

#include "core/base/log.h"
#include "core/ir/graph.h"
#include "core/ir/target.h"

namespace lockstep {

struct PipelineOptions {
  bool verify = false;             ///< run the IR's specification after every pass
  std::set<std::string> disabled;  ///< passes to leave out, by name
};

/// canonicalize, fold, simplify, cse, dce, fuse, schedule. Inputs (their order and number) and
/// outputs (their order) are kept. Level 5 of the log gets the graph after each pass that changed it,
/// level 2 the time of each.
Graph run_pipeline(Graph graph, const Target& target, const PipelineOptions& options, Log& log);

}  // namespace lockstep
