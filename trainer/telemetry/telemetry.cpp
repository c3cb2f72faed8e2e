#include "trainer/telemetry/telemetry.h"

#include "trainer/telemetry/console.h"

namespace lockstep {

Telemetry::Telemetry(const Start& start, const LoggingConfig& logging, const Clock& clock, Log& log)
    : start_(start),
      clock_(clock),
      log_(log),
      start_ns_(clock.now_ns()),
      metrics_(start.run_folder + "/metrics.jsonl", start.resumed_step, log) {
  if (logging.tensorboard) {
    tensorboard_.emplace(start.run_folder, start.wall_time, start.resumed_step, log);
  }
}

void Telemetry::write(TelemetryRecord record) {
  record.wall_time = start_.wall_time + seconds_since_start();
  if (start_.console)
    log_.info("{}", progress_line(record, start_.total_steps, seconds_since_start()));
  metrics_.write(record);
  if (tensorboard_) tensorboard_->write(record);
}

void Telemetry::write_text(std::int64_t step, const std::string& name, const std::string& text) {
  log_.info("{} at step {}:\n{}", name, step, text);
  if (!tensorboard_) return;
  // TensorBoard shows Markdown, in which only a block of code keeps its lines.
  std::string block = "    ";
  for (const char c : text) block += c == '\n' ? std::string("\n    ") : std::string(1, c);
  tensorboard_->write_text(start_.wall_time + seconds_since_start(), step, name, block);
}

double Telemetry::seconds_since_start() const {
  return seconds_since(clock_, start_ns_);
}

}  // namespace lockstep
