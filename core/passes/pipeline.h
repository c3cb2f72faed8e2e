// The list of passes, and the runner that times, checks and dumps each one, or leaves it out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/activity.h"
#include "core/base/log.h"
#include "core/base/spans.h"
#include "core/ir/graph.h"
#include "core/ir/target.h"

namespace lockstep {

struct Pass {
  std::string_view name;
  Graph (*run)(Graph graph, const Target& target, Log& log);
};

/// In the order in which they run: canonicalize, fold, simplify, absorb_scales, channels_last, cse,
/// dce, fuse, schedule. From fuse on the target matters. All but absorb_scales keep every bit.
std::span<const Pass> pipeline();

struct PassOptions {
  bool verify = false;  ///< check the graph before the first and after every pass
  std::vector<std::string> disabled = {};  ///< names of passes to leave out
  Activity activity = {};                  ///< counts every pass
  SpanStream* spans = nullptr;  ///< gets a span of each pass and gives the clock; may be null
};

struct PassReport {
  std::string_view name;
  std::int64_t ns = 0;
  bool changed = false;
  ValueId nodes = 0;  ///< afterwards
};

/// Runs all passes. Inputs (number and order), outputs and updates stay. Times are logged at debug
/// level 2, the graph after each pass that changed it at level 5. Error kUsage for an unknown name
/// in `disabled`, with a suggestion; kInternal if a check fails, naming the pass.
Graph run_pipeline(Graph graph, const Target& target, const PassOptions& options, Log& log,
                   std::vector<PassReport>* reports = nullptr);

}  // namespace lockstep
