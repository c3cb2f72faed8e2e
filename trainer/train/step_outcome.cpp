#include "trainer/train/step_outcome.h"

#include "core/trace/reads.h"

namespace lockstep {

const StepSummary& StepOutcome::read(std::string_view name, std::source_location where) {
  if (!summary) {
    const StepNumberRead told(numbers.values.context(), name, number);
    summary = numbers.read(where);
    numbers.values = Tensor();  // memory is reserved only for results of steps in flight
  }
  return *summary;
}

}  // namespace lockstep
