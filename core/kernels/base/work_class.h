// Classes of work: what a device's commands are counted by.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

enum class WorkClass : std::uint8_t {
  kDot,
  kConvolution,
  kAttention,
  kPool,
  kReduce,       ///< a reduction on its own, over middle dimensions
  kFused,        ///< elementwise work, alone or a group of it
  kFusedReduce,  ///< a group with reductions or sums of columns
  kMovement,
  kGather,
  kScatterAdd,
  kOptimizer,   ///< the groups of a step's update program
  kCopy,        ///< of a value to an output
  kCollective,  ///< between ranks
  kHostCall,    ///< a function on the host, with the copies of its operands and results
};
inline constexpr int kWorkClassCount = static_cast<int>(WorkClass::kHostCall) + 1;

/// As ledgers print it: "dot", "fused-reduce", "host call".
std::string_view name_of(WorkClass work);

}  // namespace lockstep
