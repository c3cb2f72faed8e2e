// Which commands of a scheduled graph run at once. Small commands that are neighbours and do not
// depend on one another, such as the updates of all parameters, become one bundle: threads start
// once, and share the work until its end.
//
// The scheduled order stays. The memory needed stays almost the same, although the operands and
// results of all commands of a bundle are alive together: in the arena they may take
// kMaxBundleBytes; inputs and outputs have their own memory. In-place writes stay in place: a
// command does not join others that read the memory it replaces.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/ir/graph.h"

namespace lockstep {

inline constexpr std::int64_t kMaxBundleBytes = 256 << 10;

/// Facts about the kernels, which passes may not include.
struct BundleQuery {
  /// Commands with the same kind of work may run at once; empty: this one runs alone.
  std::function<std::string(ValueId)> kind;
  std::function<std::int64_t(ValueId)> scratch_bytes;
};

/// The first and the last command of each command's bundle; for a value that no command computes,
/// the value itself.
struct CommandBundles {
  std::vector<ValueId> first;
  std::vector<ValueId> last;

  /// Every command on its own.
  explicit CommandBundles(const Graph& graph);
};

CommandBundles find_bundles(const Graph& scheduled, const BundleQuery& query);

}  // namespace lockstep
