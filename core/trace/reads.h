// Notifications of reads of values.
#pragma once

#include <cstdint>
#include <source_location>
#include <string_view>

#include "core/trace/tensor.h"

namespace lockstep {

/// Its functions are called for each read of a value by the user.
class ReadObserver {
 public:
  virtual ~ReadObserver() = default;
  /// Called before the trace is cut for the read. An error refuses the read.
  virtual void begin_read(const Tensor& tensor, const std::source_location& where) = 0;
  /// Called when the value is on the host, or when the read failed.
  virtual void end_read() = 0;
  /// Reads until the next call are of this number of that step: "the loss", 3. Empty name: the
  /// tensor identifies the value.
  virtual void name_reads(std::string_view name, std::int64_t step) = 0;
};

/// While alive, reads are of one of the numbers of a step, and are reported under its name.
class StepNumberRead {
 public:
  StepNumberRead(const TraceContext& context, std::string_view name, std::int64_t step);
  ~StepNumberRead();
  StepNumberRead(const StepNumberRead&) = delete;
  StepNumberRead& operator=(const StepNumberRead&) = delete;

 private:
  ReadObserver* observer_;
};

/// While alive, reads of values are lockstep's own and are not reported: they are so late, or at
/// such a place, that they delay nothing.
class OwnReads {
 public:
  explicit OwnReads(TraceContext& context);
  ~OwnReads();
  OwnReads(const OwnReads&) = delete;
  OwnReads& operator=(const OwnReads&) = delete;

 private:
  TraceContext& context_;
  ReadObserver* observer_;
};

}  // namespace lockstep
