// Writes the measurements of the training loop: the console line, metrics.jsonl and TensorBoard.
// Only the master rank has one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "trainer/settings/config.h"
#include "trainer/telemetry/metrics_file.h"
#include "trainer/telemetry/tensorboard.h"

namespace lockstep {

class Telemetry {
 public:
  struct Start {
    std::string run_folder;          ///< must exist
    std::int64_t resumed_step = -1;  ///< step of the checkpoint the run starts from; -1: none
    std::int64_t total_steps = -1;   ///< -1: not known
    double wall_time = 0;            ///< seconds since 1970, now
    bool console = true;             ///< whether to log a line for each record
  };
  Telemetry(const Start& start, const LoggingConfig& logging, const Clock& clock, Log& log);

  /// Stamps the record with the time and writes it everywhere.
  void write(TelemetryRecord record);

  /// Logs a text, and writes it for TensorBoard.
  void write_text(std::int64_t step, const std::string& name, const std::string& text);

  double seconds_since_start() const;

 private:
  Start start_;
  const Clock& clock_;
  Log& log_;
  std::int64_t start_ns_;
  MetricsFile metrics_;
  std::optional<TensorBoardFile> tensorboard_;
};

}  // namespace lockstep
