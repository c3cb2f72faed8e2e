// How long a program's passes took, and the making of its kernels: adds up the spans of a
// compilation by pass, over both programs of a step.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/base/spans.h"

namespace lockstep {

/// Names and ms, in the order in which they first ran: those of passes/pipeline.h, then "kernels".
using PassMs = std::vector<std::pair<std::string, double>>;

/// Listens to the stream as long as it lives. Thread-safe.
class PassTimes final : public SpanListener {
 public:
  explicit PassTimes(SpanStream& spans);
  ~PassTimes() override;
  PassTimes(const PassTimes&) = delete;
  PassTimes& operator=(const PassTimes&) = delete;

  void on_span(const Span& span) override;
  /// What was added since the last call.
  PassMs take();

 private:
  SpanStream& spans_;
  std::mutex mutex_;
  PassMs ms_;
};

}  // namespace lockstep
