// Turns the results of steps and the metrics into telemetry records, one per logging interval.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/metrics.h"
#include "core/runtime/device.h"
#include "core/virtual_time/virtual_clock.h"
#include "trainer/telemetry/core_times.h"
#include "trainer/telemetry/telemetry.h"

namespace lockstep {

/// The numbers of a finished step.
struct FinishedStep {
  std::int64_t step = 0;  ///< updates made so far
  double epoch = 0;
  MetricValues metrics;  ///< "loss" and the others
  double grad_norm = 0;
  double learning_rate = 0;
  std::vector<VirtualStep> virtual_steps = {};  ///< that ended since the last one
};

class StepLog {
 public:
  /// `telemetry` is null on ranks other than 0: they log nothing. `tokens_per_step`: of a global
  /// batch; 0 if samples have none. Steps `first_step` + 1 and `last_step` are always logged.
  StepLog(Telemetry* telemetry, const Metrics& metrics, const Clock& clock, Device& device,
          std::int64_t interval, double tokens_per_step, std::int64_t first_step,
          std::int64_t last_step);

  /// The metrics of a record are means over the steps since the last record of this process, so
  /// that a resume begins a new interval; beside them the last step's loss, as "loss_last", unless
  /// each step has a record. Values that are not finite (of skipped steps, or without a count) are
  /// left out, unless there are no others.
  void add_step(const FinishedStep& done);
  /// `metrics` by their full names ("eval/loss"). Added to the record of the same step if there is
  /// one, else to a new record.
  void add_evaluation(std::int64_t step, double epoch, const MetricValues& metrics);
  /// Writes the last record.
  void flush();
  /// Of the records so far.
  CoreTimes core_times() const { return core_times_.means(); }

 private:
  /// The increase of the metric since the last call.
  double grown_ms(const char* metric);
  /// `all_ms`: of a step, all in all; the record has the device's times.
  double core_use(double all_ms, double steps, const TelemetryRecord& record);

  Telemetry* telemetry_;
  const Metrics& metrics_;
  const Clock& clock_;
  Device& device_;
  std::int64_t interval_;
  double tokens_per_step_;
  std::int64_t first_step_;
  std::int64_t final_step_;
  std::int64_t last_step_;
  std::int64_t last_ns_;
  std::int64_t last_worker_ns_;
  std::map<std::string, double> last_totals_;
  CoreTimesSum core_times_;
  /// Of steps that are not in a record yet.
  struct MetricSum {
    double sum = 0;
    std::int64_t steps = 0;
  };
  std::map<std::string, MetricSum> sums_;
  MetricValues take_means(const MetricValues& last);
  /// Of steps that are not in a record yet, in nanoseconds of virtual time.
  struct VirtualSums {
    double all = 0, exposed_comm = 0, exposed_gap = 0, input_wait = 0, ideal = 0;
    std::int64_t steps = 0;
  };
  VirtualSums virtual_;
  void add_virtual(const std::vector<VirtualStep>& steps);
  void write_virtual(TelemetryRecord& record);
  /// Held for a possible evaluation of its step, which comes before the next step.
  std::optional<TelemetryRecord> held_;
};

}  // namespace lockstep
