// Which commands of a scheduled graph run as chains. A command that reads part by part what the
// command before it writes part by part need not wait for all of it. As a chain
// (core/runtime/chain.h) both run task by task, and a task reads from the cache what another has
// just written. So the statistics of a batch normalization are computed while the convolution's
// output is written, and a convolution reads values that were just normalized.
//
// The scheduled order and all bits stay the same. The memory that a chain uses is in use until its
// end. A command that replaces an input in place still does so: it joins no chain that reads the
// input.
#pragma once

#include <cstdint>
#include <functional>

#include "core/ir/graph.h"
#include "core/passes/bundles.h"

namespace lockstep {

/// The maximum bytes of a task's part of a value: larger parts would not stay in the cache.
inline constexpr std::int64_t kMaxChainedPart = std::int64_t{1} << 20;
/// The maximum bytes that a command of one task may read and write to be part of a chain.
inline constexpr std::int64_t kMaxSmallCommand = 256 << 10;
inline constexpr std::size_t kMaxChain = 8;  ///< commands

/// Facts about the kernels, which passes may not include.
struct ChainQuery {
  /// Number of tasks of the command's call; 0: it cannot be part of a chain.
  std::function<std::int64_t(ValueId)> tasks;
  /// Bytes that a task reads of operand i, or writes of result k; the size of the whole if a task
  /// may read all of it, or if the result is complete only when all tasks are done.
  std::function<std::int64_t(ValueId, std::size_t)> read_bytes;
  std::function<std::int64_t(ValueId, std::size_t)> written_bytes;
};

/// Bundles, and chains of bundles of one command. For a chain, CommandBundles::first and last are
/// those of the whole chain.
CommandBundles find_chains(const Graph& scheduled, const CommandBundles& bundles,
                           const ChainQuery& query);

}  // namespace lockstep
