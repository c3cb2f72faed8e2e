// Finds the origin of a step's first NaN or infinity: runs its gradient program again, op by op.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/ir/graph.h"
#include "core/trace/value.h"

namespace lockstep {

class Communicator;
class Device;
class Log;
struct CompileOptions;

/// A value that is not finite, of the first micro-batch that has one.
struct NonFiniteValue {
  std::int64_t micro_batch = 0;  ///< counted from this rank's first
  std::string text;              ///< "%h.3.mlp multiply f32[8,64] (gpt2.cpp:41)"
};

/// Runs the gradient program of `step` on every micro-batch of `inputs` (one per step input, with
/// values), without fusion, on the device's stream, and checks the inputs and the results of every
/// op. Nothing if all are finite: then only the sum over micro-batches is not. The program runs in
/// host memory. Error kUsage for a step that cannot be split.
std::optional<NonFiniteValue> find_nonfinite(const Graph& step,
                                             std::span<const TensorValuePtr> inputs,
                                             const CompileOptions& options, Device& device,
                                             Communicator& communicator, Log& log);

/// Whether all elements are finite; integers always are.
bool all_finite(DType dtype, const std::byte* data, std::int64_t elements);

}  // namespace lockstep
