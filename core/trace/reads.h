// Reads of values: who is told of them.
#pragma once

#include <source_location>

#include "core/trace/context.h"

namespace lockstep {

/// Told of the reads of values that a user makes.
class ReadObserver {
 public:
  virtual ~ReadObserver() = default;
  /// Before the trace is cut for it. An error refuses the read.
  virtual void begin_read(const Tensor& tensor, const std::source_location& where) = 0;
  /// The value is on the host, or will never be.
  virtual void end_read() = 0;
  /// What is read until the next call is this number of that step: "the loss", 3. Empty: what it
  /// is shows in the tensor.
  virtual void name_reads(std::string_view name, std::int64_t step) = 0;
};

/// While alive, what is read is one of the numbers of a step, and is told as that.
class StepNumberRead {
 public:
  StepNumberRead(const TraceContext& context, std::string_view name, std::int64_t step)
      : observer_(context.read_observer()) {
    if (observer_ != nullptr) observer_->name_reads(name, step);
  }
  ~StepNumberRead() {
    if (observer_ != nullptr) observer_->name_reads({}, 0);
  }
  StepNumberRead(const StepNumberRead&) = delete;
  StepNumberRead& operator=(const StepNumberRead&) = delete;

 private:
  ReadObserver* observer_;
};

/// While alive, reads of values are lockstep's own, made so late or at such a place that they are
/// in nobody's way: nobody is told.
class OwnReads {
 public:
  explicit OwnReads(TraceContext& context)
      : context_(context), observer_(context.set_read_observer(nullptr)) {}
  ~OwnReads() { context_.set_read_observer(observer_); }
  OwnReads(const OwnReads&) = delete;
  OwnReads& operator=(const OwnReads&) = delete;

 private:
  TraceContext& context_;
  ReadObserver* observer_;
};

}  // namespace lockstep
