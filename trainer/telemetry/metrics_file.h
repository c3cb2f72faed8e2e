// <run>/metrics.jsonl: one JSON object per record, readable while the run goes on. Keys are `step`,
// `epoch`, `wall_time` and those of fields_of(); NaN and infinity are written as null.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "trainer/telemetry/record.h"

namespace lockstep {

/// The record as one line of JSON without the newline.
std::string to_json(const TelemetryRecord& record);

/// The records of a file, in its order; a null is NaN. Empty if there is no file. A last line
/// without a newline is left out: it is being written, or the run was killed meanwhile. Error
/// kUsage, naming file and line, for any other line that to_json() did not write: the disk was full
/// (a resume removes such lines), or somebody edited the file.
std::vector<TelemetryRecord> read_metrics(const std::string& path);

/// The records up to the first damaged line.
struct MetricsRead {
  std::vector<TelemetryRecord> records = {};
  std::string damage = {};  ///< the message of that error; empty: there is none
};
MetricsRead read_good_metrics(const std::string& path);

class MetricsFile {
 public:
  /// Starts after `resumed_step`: keeps the records up to that step of an existing file; removes
  /// later ones, which the resumed run will write again, and a last line truncated by a crash. -1
  /// starts an empty file. Error kUsage if the file cannot be written.
  MetricsFile(std::string path, std::int64_t resumed_step, Log& log);
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  /// Appends one line; a record of the resumed step completes the existing line of that step (after
  /// an evaluation that a signal interrupted). If the disk fails, metrics are lost and one warning
  /// is logged; training continues.
  void write(const TelemetryRecord& record);

 private:
  void open();
  /// Whether `line` is of the resumed step, and was merged into its existing line.
  bool complete_resumed_line(const std::string& line);

  std::string path_;
  Log& log_;
  int fd_ = -1;
  std::string resumed_line_;  ///< the last line that was kept
  bool warned_ = false;
};

}  // namespace lockstep
