#include "trainer/apps/run_memory.h"

#include <algorithm>

#include "trainer/task/batch_types.h"
#include "trainer/train/device_feed.h"

namespace lockstep {

RunMemory run_memory(const PlannedRun& run, const BatchPlan& batch) {
  const std::int64_t in_flight = run.device.steps_in_flight();
  RunMemory out;
  out.state = run.state;
  out.step = step_memory(*run.step, batch.micro_batches_per_rank);
  const std::int64_t number = batch_bytes({{"micro_batch", {DType::kI64, Shape{}}}});
  out.batches =
      batch.micro_batches_per_rank *
      (batches_on_device(run.device, run.device_prefetch) * run.micro_batch_bytes + number);
  out.step_results = out.results = in_flight * out.step.results;
  if (run.evaluation == nullptr) return out;
  const StepMemory need = step_memory(*run.evaluation, 1);
  out.results = std::max(out.results, in_flight * need.results);
  out.evaluation = std::max<std::int64_t>(in_flight * run.evaluation_batch_bytes + need.total() -
                                              need.results - (out.step.total() - out.step.results),
                                          0);
  return out;
}

std::int64_t loader_bytes(const PlannedRun& run, const BatchPlan& batch) {
  return (run.prefetch + 1) * batch.micro_batches_per_rank * run.micro_batch_bytes;
}

}  // namespace lockstep
