#include "trainer/telemetry/record.h"

namespace lockstep {

const std::vector<TelemetryField>& telemetry_fields() {
  using R = TelemetryRecord;
  static const std::vector<TelemetryField> fields = {
      {"train/loss", &R::train_loss},
      {"lr", &R::learning_rate},
      {"grad_norm", &R::grad_norm},
      {"perf/ups", &R::updates_per_s},
      {"perf/tokens_per_s", &R::tokens_per_s},
      {"perf/step_ms", &R::step_ms},
      {"perf/trace_ms", &R::trace_ms},
      {"perf/device_ms", &R::device_ms},
      {"perf/compile_ms", &R::compile_ms},
      {"perf/input_wait_ms", &R::input_wait_ms},
      {"perf/exposed_comm_ms", &R::exposed_comm_ms},
      {"perf/exposed_gap_ms", &R::exposed_gap_ms},
      {"perf/checkpoint_stall_ms", &R::checkpoint_stall_ms},
      {"memory/peak_bytes", &R::peak_bytes},
      {"eval/loss", &R::eval_loss},
      {"eval/accuracy", &R::eval_accuracy},
  };
  return fields;
}

}  // namespace lockstep
