// TensorBoard event files. A file is a sequence of TFRecords
//   u64 length | u32 masked crc32c(length) | bytes | u32 masked crc32c(bytes)      (little endian)
// whose bytes are tensorflow.Event protocol buffers (tensorflow/core/util/event.proto). Event's few
// fields are encoded by hand, so that the build does not need TensorFlow's schema files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/log.h"
#include "trainer/telemetry/record.h"

namespace lockstep {

/// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78).
std::uint32_t crc32c(std::string_view bytes);

/// The bytes framed as one TFRecord.
std::string tf_record(std::string_view bytes);

class TensorBoardFile {
 public:
  /// Creates `<folder>/events.out.tfevents.<start>.<host>.<pid>`. A run that resumes at a step > 0
  /// makes TensorBoard discard the events of earlier files from that step on. Error kUsage if the
  /// file cannot be created.
  TensorBoardFile(const std::string& folder, double start_wall_time, std::int64_t resumed_step,
                  Log& log);
  ~TensorBoardFile();
  TensorBoardFile(const TensorBoardFile&) = delete;
  TensorBoardFile& operator=(const TensorBoardFile&) = delete;

  /// Writes one event with a scalar for each measured field. If the disk fails, events are lost and
  /// a warning is logged.
  void write(const TelemetryRecord& record);

  /// Writes one event with a text, for TensorBoard's page of texts.
  void write_text(double wall_time, std::int64_t step, std::string_view tag, std::string_view text);

  const std::string& path() const { return path_; }

 private:
  void append(const std::string& event);

  std::string path_;
  Log& log_;
  int fd_ = -1;
  bool warned_ = false;
};

}  // namespace lockstep
