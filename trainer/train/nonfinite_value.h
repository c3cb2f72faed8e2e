// Names the first value of a step that is not finite.
#pragma once

#include <cstdint>
#include <string>

#include "trainer/job/rank_runtime.h"

namespace lockstep {

/// Runs the step that is recorded, but not cut, op by op. Its parameters and slots must be those
/// that it had. Collective: all ranks get the finding of the lowest micro-batch that has one, for a
/// message. `first_micro_batch`: of this rank.
std::string name_nonfinite_value(RankRuntime& runtime, std::int64_t first_micro_batch);

}  // namespace lockstep
