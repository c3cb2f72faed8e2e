#include "trainer/train/run_log.h"

#include <chrono>

#include "core/runtime/device.h"

namespace lockstep {
namespace {

double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

void RunLog::begin(const Steps& steps) {
  steps_per_epoch_ = steps.steps_per_epoch;
  layout_ = {.threads = runtime_.device().options().threads,
             .ranks = static_cast<int>(steps.batch.ranks),
             .micro_batch_size = steps.batch.micro_batch_size,
             .micro_batches = steps.batch.micro_batches_per_rank};
  if (runtime_.is_master() && spec_.folder && !telemetry_)
    telemetry_.emplace(Telemetry::Start{.run_folder = spec_.folder->path,
                                        .resumed_step = resumed_step_,
                                        .total_steps = steps.total_steps,
                                        .wall_time = unix_time(),
                                        .console = spec_.options.progress_lines},
                       spec_.options.logging, runtime_.clock(), runtime_.log());
  step_log_.emplace(telemetry_ ? &*telemetry_ : nullptr, runtime_.metrics(), runtime_.clock(),
                    runtime_.device(), spec_.options.logging.interval,
                    static_cast<double>(steps.tokens_per_step), steps.first_step,
                    steps.total_steps);
}

void RunLog::add_step(std::int64_t step, double learning_rate, const StepSummary& summary) {
  FinishedStep done;
  done.step = step;
  done.epoch = epoch_of(step);
  done.metrics = summary.metrics;
  done.metrics["loss"] = summary.loss;
  done.grad_norm = summary.grad_norm;
  done.learning_rate = learning_rate;
  if (VirtualClock* clock = runtime_.device().virtual_clock())
    done.virtual_steps = clock->take_steps(step - 1);
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): steps come after begin()
  step_log_->add_step(done);
}

void RunLog::add_evaluation(std::int64_t step, const MetricValues& metrics) {
  if (step_log_) step_log_->add_evaluation(step, epoch_of(step), metrics);
}

void RunLog::add_text(std::int64_t step, const std::string& name, const std::string& text) {
  if (telemetry_) telemetry_->write_text(step, name, text);
}

void RunLog::flush() {
  if (step_log_) step_log_->flush();
}

void RunLog::end() {
  flush();
  if (!telemetry_ || !step_log_) return;
  if (const std::string advice = core_advice(step_log_->core_times(), layout_); !advice.empty())
    runtime_.log().info("{}", advice);
}

}  // namespace lockstep
