// Which commands of a scheduled graph run at once. Small commands that are neighbours and do not
// depend on one another, such as the updates of all parameters, become one launch: threads start
// once, and share the work until its end.
//
// The scheduled order stays. The memory needed stays almost the same, although the operands and
// results of all commands of a launch are alive together: in the arena they may take
// kMaxLaunchBytes; inputs and outputs have their own memory. In-place writes stay in place: a
// command does not join others that read the memory it replaces.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/ir/graph.h"

namespace lockstep {

inline constexpr std::int64_t kMaxLaunchBytes = 256 << 10;

/// Facts about the kernels, which passes may not include.
struct LaunchQuery {
  /// Commands with the same kind of work may run at once; empty: this one runs alone.
  std::function<std::string(ValueId)> kind;
  std::function<std::int64_t(ValueId)> scratch_bytes;
};

/// The first and the last command of each command's launch; for a value that no command computes,
/// the value itself.
struct Launches {
  std::vector<ValueId> first;
  std::vector<ValueId> last;

  /// Every command on its own.
  explicit Launches(const Graph& graph);
};

Launches find_launches(const Graph& scheduled, const LaunchQuery& query);

}  // namespace lockstep
