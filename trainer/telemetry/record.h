// The measurements at a step: one record per logging interval, written to the console, to
// metrics.jsonl and to TensorBoard.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/task/metrics.h"

namespace lockstep {

/// Values that were not measured stay empty and are not written.
struct TelemetryRecord {
  std::int64_t step = 0;    ///< updates made so far
  double epoch = 0;         ///< passes over the training data so far
  double wall_time = 0;     ///< seconds since 1970
  MetricValues train = {};  ///< "loss" and the others, means over the steps since the last record
  std::optional<double> learning_rate = {};
  std::optional<double> grad_norm = {};  ///< before clipping
  std::optional<double> updates_per_s = {};
  std::optional<double> tokens_per_s = {};  ///< of all ranks
  // Milliseconds per step, means over the logging interval without its evaluations and saves.
  std::optional<double> step_ms = {};
  std::optional<double> trace_ms = {};
  std::optional<double> device_ms = {};
  std::optional<double> compile_ms = {};
  std::optional<double> input_wait_ms = {};
  std::optional<double> exposed_comm_ms = {};
  std::optional<double> exposed_gap_ms = {};
  std::optional<double> core_use = {};  ///< part of the time of the rank's cores that computed
  /// Total time that the device paused for saves that ended in the interval.
  std::optional<double> checkpoint_stall_ms = {};
  // Total milliseconds that the loop spent on evaluations, and on saves, in the interval.
  std::optional<double> eval_ms = {};
  std::optional<double> save_ms = {};
  // In virtual time: milliseconds per step, means over the steps since the last record, without
  // evaluations and saves between them.
  std::optional<double> sim_step_ms = {};
  std::optional<double> sim_exposed_comm_ms = {};
  std::optional<double> sim_exposed_gap_ms = {};
  std::optional<double> sim_input_wait_ms = {};
  std::optional<double> sim_mfu = {};     ///< of the device's peak
  std::optional<double> peak_bytes = {};  ///< peak device memory since the start
  MetricValues evaluations = {};          ///< by full name: "eval/loss"
};

/// Names of training metrics: the mean loss of the steps since the last record, and the loss of the
/// last of them.
inline constexpr const char* kLoss = "loss";
inline constexpr const char* kLossLast = "loss_last";

/// All measured values with their names in metrics.jsonl and TensorBoard ("train/loss",
/// "eval/accuracy", "perf/step_ms"), in order; step, epoch and wall_time are written separately.
std::vector<std::pair<std::string, double>> fields_of(const TelemetryRecord& record);
/// Sets a value by its name there: one with a slash that is no other's is an evaluation's, as an
/// evaluation may have any name. False for a name without one that is unknown.
bool set_field(TelemetryRecord& record, const std::string& name, double value);

}  // namespace lockstep
