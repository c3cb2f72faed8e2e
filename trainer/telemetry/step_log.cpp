#include "trainer/telemetry/step_log.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace lockstep {
namespace {

constexpr std::array kMetrics = {"TraceTime",       "ExecuteTime",    "CompileTime",
                                 "InputWait",       "ExposedComm",    "ExposedGap",
                                 "CheckpointStall", "EvaluationTime", "SaveTime"};

}  // namespace

StepLog::StepLog(Telemetry* telemetry, const Metrics& metrics, const Clock& clock, Device& device,
                 std::int64_t interval, double tokens_per_step, std::int64_t first_step,
                 std::int64_t last_step)
    : telemetry_(telemetry),
      metrics_(metrics),
      clock_(clock),
      device_(device),
      interval_(interval),
      tokens_per_step_(tokens_per_step),
      first_step_(first_step),
      final_step_(last_step),
      last_step_(first_step),
      last_ns_(clock.now_ns()),
      last_worker_ns_(device.pool().worker_ns()) {
  for (const char* metric : kMetrics) grown_ms(metric);
}

void StepLog::add_step(const FinishedStep& done) {
  if (telemetry_ == nullptr) return;
  flush();
  add_virtual(done.virtual_steps);
  for (const auto& [name, value] : done.metrics) {
    if (!std::isfinite(value)) continue;
    sums_[name].sum += value;
    ++sums_[name].steps;
  }
  const bool ends = done.step == first_step_ + 1 || done.step == final_step_;
  if (done.step % interval_ != 0 && !ends) return;
  const std::int64_t now = clock_.now_ns();
  const auto steps = static_cast<double>(done.step - last_step_);
  const double eval_ms = grown_ms("EvaluationTime");
  const double save_ms = grown_ms("SaveTime");
  const double ms = static_cast<double>(now - last_ns_) * 1e-6 - eval_ms - save_ms;
  const double seconds = std::max(ms, 1e-6) * 1e-3;
  TelemetryRecord record;
  record.step = done.step;
  record.epoch = done.epoch;
  record.train = take_means(done.metrics);
  record.learning_rate = done.learning_rate;
  record.grad_norm = done.grad_norm;
  record.updates_per_s = steps / seconds;
  if (tokens_per_step_ > 0) record.tokens_per_s = tokens_per_step_ * steps / seconds;
  record.step_ms = seconds / steps * 1e3;
  record.trace_ms = grown_ms("TraceTime") / steps;
  record.device_ms = grown_ms("ExecuteTime") / steps;
  record.compile_ms = grown_ms("CompileTime") / steps;
  record.input_wait_ms = grown_ms("InputWait") / steps;
  record.exposed_comm_ms = grown_ms("ExposedComm") / steps;
  record.exposed_gap_ms = grown_ms("ExposedGap") / steps;
  record.core_use = core_use(1e-6 * static_cast<double>(now - last_ns_) / steps, steps, record);
  if (const double stall = grown_ms("CheckpointStall"); stall > 0)
    record.checkpoint_stall_ms = stall;
  if (eval_ms > 0) record.eval_ms = eval_ms;
  if (save_ms > 0) record.save_ms = save_ms;
  write_virtual(record);
  record.peak_bytes = static_cast<double>(device_.allocator().peak_bytes());
  last_step_ = done.step;
  last_ns_ = now;
  core_times_.add(record);
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

void StepLog::flush() {
  if (held_) telemetry_->write(*held_);
  held_.reset();
}

MetricValues StepLog::take_means(const MetricValues& last) {
  MetricValues out = last;
  for (const auto& [name, of] : std::exchange(sums_, {}))
    out[name] = of.sum / static_cast<double>(of.steps);
  const auto loss = last.find(kLoss);
  if (interval_ > 1 && loss != last.end()) out[kLossLast] = loss->second;
  return out;
}

void StepLog::add_virtual(const std::vector<VirtualStep>& steps) {
  for (const VirtualStep& step : steps) {
    virtual_.all += static_cast<double>(step.ns());
    virtual_.exposed_comm += static_cast<double>(step.times.exposed_ns());
    virtual_.exposed_gap += static_cast<double>(step.begin.idle_ns - step.begin.inputs_ns);
    virtual_.input_wait += static_cast<double>(step.begin.inputs_ns);
    virtual_.ideal += step.ideal_ns;
    ++virtual_.steps;
  }
}

void StepLog::write_virtual(TelemetryRecord& record) {
  const VirtualSums sums = std::exchange(virtual_, {});
  if (sums.steps == 0) return;
  const auto mean_ms = [&](double ns) { return ns / static_cast<double>(sums.steps) * 1e-6; };
  record.sim_step_ms = mean_ms(sums.all);
  record.sim_exposed_comm_ms = mean_ms(sums.exposed_comm);
  record.sim_exposed_gap_ms = mean_ms(sums.exposed_gap);
  record.sim_input_wait_ms = mean_ms(sums.input_wait);
  if (sums.ideal > 0) record.sim_mfu = sums.ideal / sums.all;
}

// With evaluations and saves: the device's times have theirs.
double StepLog::core_use(double all_ms, double steps, const TelemetryRecord& record) {
  const std::int64_t worker_ns = device_.pool().worker_ns();
  const double workers_ms =
      1e-6 * static_cast<double>(worker_ns - std::exchange(last_worker_ns_, worker_ns)) / steps;
  const double computed_ms =
      record.device_ms.value_or(0) - record.exposed_comm_ms.value_or(0) + workers_ms;
  // An execution that began in the interval before is counted where it ends.
  return std::clamp(computed_ms / (std::max(all_ms, 1e-6) * device_.options().threads), 0.0, 1.0);
}

double StepLog::grown_ms(const char* metric) {
  const double total = metrics_.total(metric);
  return (total - std::exchange(last_totals_[metric], total)) * 1e-6;
}

}  // namespace lockstep
