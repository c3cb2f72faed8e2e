// The parts of a rank's peak device memory by kind, from the program that ran most. Sizes are those
// of the allocator's blocks.
//   parameters            all that the step reads
//   optimizer state       state named after a parameter: "m.wte.weight"
//   parameter copies      state with a parameter's name: its value in the type of products
//   other state           running statistics and the like
//   batches               room for the batches of steps in flight and those fed ahead; the
//                         micro-batches' indices
//   scalars               numbers of the host
//   activations, scratch  the arena of the larger program: what values take, and what only scratch
//                         memory of kernels takes
//   gradients             the buffers in which gradients are summed
//   new values            of state that is not overwritten in place
//   results               of steps in flight
//   other                 what is left: evaluations and other programs where they take more than
//                         a step, state that the step does not read
// They sum to the peak unless that is less than the program needs, as of a run without a step.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/statistics/program_record.h"

namespace lockstep {

struct CompiledStep;

struct DeviceUse {
  std::int64_t micro_batches = 1;    ///< of a step
  std::int64_t steps_in_flight = 1;  ///< DeviceOptions::steps_in_flight()
  std::int64_t batch_room = 0;       ///< bytes set aside for batches "batch.*"; 0: none were
  std::int64_t peak_bytes = 0;       ///< Allocator::peak_bytes()
};

/// Without kinds that take nothing.
std::vector<ProgramRecord::MemoryPart> memory_parts(const CompiledStep& step, const DeviceUse& use);

}  // namespace lockstep
