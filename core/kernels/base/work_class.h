// Classes of work, by which a device's commands are counted.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

enum class WorkClass : std::uint8_t {
  kDot,
  kConvolution,
  kAttention,
  kPool,
  kReduce,       ///< a single reduction, over middle dimensions
  kFused,        ///< elementwise work, a single op or a group
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

/// The name in ledgers: "dot", "fused-reduce", "host call".
std::string_view name_of(WorkClass work);

}  // namespace lockstep
