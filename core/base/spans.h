// Spans: the one stream of "this thread did this from here to there" that metrics, ledger and
// traces are fed from. A span has a thread, a step, a category and a correlation id that ties a
// recorded step on the host to its execution on the device.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/metrics.h"

namespace lockstep {

enum class SpanCategory : std::uint8_t {
  kTrace,               ///< host: recording a graph
  kCompile,             ///< host: passes, kernels, plan, or what is found on disk instead
  kArtifactLoad,        ///< host: a compiled step from disk
  kArtifactWait,        ///< host: another process compiles the same
  kArtifactSave,        ///< host: a compiled step to disk
  kExecute,             ///< device: one program
  kTransferToDevice,    ///< host -> device copy
  kTransferFromDevice,  ///< device -> host copy
  kHostCall,            ///< device: a function on the host, with its copies
  kAllReduce,           ///< communication thread: one bucket
  kInputWait,           ///< host: waiting for the loader
  kQueueWait,           ///< host: waiting for a place in the execution queue
  kDeviceLockWait,      ///< host: waiting for a value
  kExposedComm,         ///< device: waiting for communication
  kExposedGap,          ///< device: idle between two executions
  kCheckpoint,          ///< saving or restoring
};

/// The metric a category feeds: "TraceTime", "CompileTime", ...
const char* metric_name(SpanCategory category);

struct Span {
  SpanCategory category;
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::int64_t step;          ///< -1 outside of steps
  std::uint64_t correlation;  ///< 0 for none
  std::uint64_t thread;       ///< an id stable for the thread's life
};

/// Receives finished spans from any thread and hands each to the metrics and the listeners.
class SpanStream {
 public:
  using Listener = std::function<void(const Span&)>;
  SpanStream(const Clock& clock, Metrics& metrics) : clock_(clock), metrics_(metrics) {}

  const Clock& clock() const { return clock_; }
  Metrics& metrics() const { return metrics_; }
  /// Add listeners before the first span; they are called under no lock, from any thread.
  void add_listener(Listener listener) { listeners_.push_back(std::move(listener)); }
  void record(SpanCategory category, std::int64_t begin_ns, std::int64_t end_ns,
              std::int64_t step = -1, std::uint64_t correlation = 0);

 private:
  const Clock& clock_;
  Metrics& metrics_;
  std::vector<Listener> listeners_;
};

/// Records the time from construction to destruction.
class ScopedSpan {
 public:
  ScopedSpan(SpanStream& stream, SpanCategory category, std::int64_t step = -1,
             std::uint64_t correlation = 0)
      : stream_(stream),
        category_(category),
        step_(step),
        correlation_(correlation),
        begin_ns_(stream.clock().now_ns()) {}
  ~ScopedSpan() {
    stream_.record(category_, begin_ns_, stream_.clock().now_ns(), step_, correlation_);
  }
  ScopedSpan(const ScopedSpan&) = delete;
  ScopedSpan& operator=(const ScopedSpan&) = delete;

 private:
  SpanStream& stream_;
  SpanCategory category_;
  std::int64_t step_;
  std::uint64_t correlation_;
  std::int64_t begin_ns_;
};

}  // namespace lockstep
