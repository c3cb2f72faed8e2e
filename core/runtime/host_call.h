// Runs a host_call of a plan: operands are copied to the host, the function runs there on the
// device's thread, results are copied back.
#pragma once

#include <cstdint>

#include "core/base/activity.h"
#include "core/base/spans.h"
#include "core/ir/graph.h"
#include "core/ir/host_function.h"
#include "core/kernels/base/kernel.h"

namespace lockstep {

struct HostCallContext {
  SpanStream& spans;
  Activity activity = {};
  std::int64_t step = -1;
};

/// Counts HostCall and records a span kHostCall (with the copies; its name is "match_boxes
/// detector.cpp:41 (head)") and one for each copy. While the function runs it is a ForeignCall,
/// since it may take long and its progress cannot be counted. `operands` are the types of the
/// call's operands.
void run_host_call(const HostFunction& function, const Node& node, std::span<const Type> operands,
                   const KernelCall& memory, const HostCallContext& context);

}  // namespace lockstep
