#include "trainer/step_log.h"

#include <algorithm>

namespace lockstep {

StepLog::StepLog(Telemetry* telemetry, const Metrics& metrics, const Clock& clock,
                 const Allocator& allocator, std::int64_t interval, double tokens_per_step,
                 std::int64_t first_step, std::int64_t last_step)
    : telemetry_(telemetry),
      metrics_(metrics),
      clock_(clock),
      allocator_(allocator),
      interval_(interval),
      tokens_per_step_(tokens_per_step),
      first_step_(first_step),
      final_step_(last_step),
      last_step_(first_step),
      last_ns_(clock.now_ns()) {}

void StepLog::add_step(const FinishedStep& done) {
  if (telemetry_ == nullptr) return;
  const bool ends = done.step == first_step_ + 1 || done.step == final_step_;
  if (done.step % interval_ != 0 && !ends) return;
  flush();
  const std::int64_t now = clock_.now_ns();
  const auto steps = static_cast<double>(done.step - last_step_);
  const auto ns = std::max<std::int64_t>(now - last_ns_ - eval_ns_ - save_ns_, 1);
  const double seconds = static_cast<double>(ns) * 1e-9;
  TelemetryRecord record;
  record.step = done.step;
  record.epoch = done.epoch;
  record.train = done.metrics;
  record.learning_rate = done.learning_rate;
  record.grad_norm = done.grad_norm;
  record.updates_per_s = steps / seconds;
  if (tokens_per_step_ > 0) record.tokens_per_s = tokens_per_step_ * steps / seconds;
  record.step_ms = seconds / steps * 1e3;
  record.trace_ms = mean_ms("TraceTime", steps);
  record.device_ms = mean_ms("ExecuteTime", steps);
  record.compile_ms = mean_ms("CompileTime", steps);
  record.input_wait_ms = mean_ms("InputWait", steps);
  record.exposed_comm_ms = mean_ms("ExposedComm", steps);
  record.exposed_gap_ms = mean_ms("ExposedGap", steps);
  if (const double stall = mean_ms("CheckpointStall", 1); stall > 0)
    record.checkpoint_stall_ms = stall;
  if (eval_ns_ > 0) record.eval_ms = static_cast<double>(eval_ns_) * 1e-6;
  if (save_ns_ > 0) record.save_ms = static_cast<double>(save_ns_) * 1e-6;
  eval_ns_ = save_ns_ = 0;
  record.peak_bytes = static_cast<double>(allocator_.peak_bytes());
  last_step_ = done.step;
  last_ns_ = now;
  held_ = record;
}

void StepLog::add_evaluation(std::int64_t step, double epoch, const MetricValues& metrics) {
  if (telemetry_ == nullptr) return;
  if (!held_ || held_->step != step) {
    flush();
    held_.emplace();
    held_->step = step;
    held_->epoch = epoch;
  }
  held_->evaluations = metrics;
  flush();
}

void StepLog::add_pause(Pause pause, std::int64_t begin_ns) {
  (pause == Pause::kSave ? save_ns_ : eval_ns_) += clock_.now_ns() - begin_ns;
}

void StepLog::flush() {
  if (held_) telemetry_->write(*held_);
  held_.reset();
}

double StepLog::mean_ms(const char* metric, double steps) {
  const double total = metrics_.metric(metric).accumulator;
  double& last = last_totals_[metric];
  const double ms = (total - last) * 1e-6 / steps;
  last = total;
  return ms;
}

}  // namespace lockstep
