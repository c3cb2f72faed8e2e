// What a compiled step asks of a device: the input of the cost model (core/cost). It is read from
// the step as it was recorded and from plans for kernels nobody knows, so that it does not depend
// on this machine.
#pragma once

#include "core/cost/step_time.h"
#include "core/runtime/compiled_step.h"

namespace lockstep {

/// Of one micro-batch. `planned`: with CompileOptions::unknown_kernels.
StepWork work_of(const CompiledStep& planned);

/// The type in which a device multiplies what is f32 (fp32) or bf16 here: 16 bits are those that it
/// has. Error kUsage if it has none.
MathType math_type_of(DType dtype, const DeviceProfile& device);

}  // namespace lockstep
