// Which commands of a scheduled graph run at once. Small commands that stand next to each other and
// do not depend on one another, as the updates of all parameters do, become one launch: threads are
// handed work once, and share it until its end.
//
// The order stays as scheduled. So does, almost, the memory that is needed, although the operands
// and results of all commands of a launch are alive together: in the arena those may take
// kMaxLaunchBytes; inputs and outputs have memory of their own anyway. What is written in place
// without launches is so with them: a command does not join others that read what it replaces.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/ir/graph.h"

namespace lockstep {

inline constexpr std::int64_t kMaxLaunchBytes = 256 << 10;

/// What must be known of the kernels, which passes may not include.
struct LaunchQuery {
  /// Commands with the same kind of work may run at once; empty: this one runs alone.
  std::function<std::string(ValueId)> kind;
  std::function<std::int64_t(ValueId)> scratch_bytes;
};

/// The first and the last command of each command's launch; of values that no command computes
/// themselves.
struct Launches {
  std::vector<ValueId> first;
  std::vector<ValueId> last;

  /// Every command on its own.
  explicit Launches(const Graph& graph);
};

Launches find_launches(const Graph& scheduled, const LaunchQuery& query);

}  // namespace lockstep
