// Plans as bytes: a magic number, the 128-bit hash of what follows, and a protobuf (plan.proto)
// that holds the graph in text form.
#pragma once

#include <string>
#include <string_view>

#include "core/runtime/plan.h"

namespace lockstep {

/// Equal plans give equal bytes, in any process of the same build. Error kData for a plan beyond
/// protobuf's 2 GB.
std::string serialize(const Plan& plan);

/// The plan. Error kData with the cause if the bytes are truncated, damaged or of another format,
/// or if a command does not fit the graph and the memory that the plan states. A plan that is
/// returned can be loaded and run, except for the check of its kernels' needs (loaded_plan.h).
/// Names of dimensions are lost.
Plan deserialize(std::string_view bytes);

}  // namespace lockstep
