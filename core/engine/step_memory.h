// The device memory that the execution of a compiled step takes, exact to the byte and known before
// it runs.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

struct CompiledStep;

/// Bytes as the allocator counts them, in addition to the step's inputs; all are reserved before
/// the first kernel.
struct StepMemory {
  std::int64_t scalars = 0;
  std::int64_t arena = 0;          ///< activations and temporaries, of the larger program
  std::int64_t gradient_sums = 0;  ///< see reduction.h
  std::int64_t updates = 0;        ///< that do not overwrite their inputs
  std::int64_t results = 0;        ///< see result_bytes()

  std::int64_t total() const { return scalars + arena + gradient_sums + updates + results; }
};

/// With this many micro-batches on the rank, if there is no other lease on the inputs whose memory
/// outputs take.
StepMemory step_memory(const CompiledStep& step, std::int64_t micro_batches);

/// By output of the step: whether it is a variable's next value.
std::vector<bool> updates_of(const CompiledStep& step);

/// Bytes of the outputs that are not a variable's next value: they live until the host releases
/// them.
std::int64_t result_bytes(const CompiledStep& step, std::int64_t micro_batches);

}  // namespace lockstep
