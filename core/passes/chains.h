// Which commands of a scheduled graph run as chains. A command that reads, part by part, what the
// one before it writes part by part need not wait for all of it: as a chain (core/runtime/chain.h)
// both run task by task, and what one task writes the next reads from the cache. So the statistics
// of a batch normalization are taken as the convolution's output is written, and a convolution
// reads what was normalized just now.
//
// The order stays as scheduled, and so do all bits. What a chain uses is in use until its end. What
// replaces an input in place does so in a chain, too: it joins none that reads the input.
#pragma once

#include <cstdint>
#include <functional>

#include "core/ir/graph.h"
#include "core/passes/launches.h"

namespace lockstep {

/// A task's part of a value is worth keeping in the cache up to this size.
inline constexpr std::int64_t kMaxChainedPart = std::int64_t{1} << 20;
/// What a command of one task may read and write to be part of a chain all the same.
inline constexpr std::int64_t kMaxSmallCommand = 256 << 10;
inline constexpr std::size_t kMaxChain = 8;  ///< commands

/// What must be known of the kernels, which passes may not include.
struct ChainQuery {
  /// Of the command's call; 0: it cannot be part of a chain.
  std::function<std::int64_t(ValueId)> tasks;
  /// Bytes that a task reads of operand i, or writes of result k; those of all of it if it may read
  /// all, or if the result is there only when all tasks are done.
  std::function<std::int64_t(ValueId, std::size_t)> read_bytes;
  std::function<std::int64_t(ValueId, std::size_t)> written_bytes;
};

/// Launches, and chains of launches of one command, as what runs at once: Launches::first and last
/// are those of the chain.
Launches find_chains(const Graph& scheduled, const Launches& launches, const ChainQuery& query);

}  // namespace lockstep
