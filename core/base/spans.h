// Spans: one stream of records that say what a thread did, from when to when. Metrics, the ledger,
// traces and advice listen to it, and none of them reads a clock. A span has a kind, whose facts
// (span_kinds.h) define its numbers; a step; and a correlation id that ties the host's recording to
// its execution on the device. Beside spans there are levels: the value of a quantity from now on.
//
// A span without a listener costs one comparison: no clock reading, no call.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/metrics.h"
#include "core/base/span_kinds.h"

namespace lockstep {

struct Span {
  SpanKind kind = SpanKind::kTrace;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t step = -1;         ///< -1 outside of steps
  std::uint64_t correlation = 0;  ///< of a cut and its execution; 0 for none
  std::uint64_t thread = 0;       ///< an id that the thread keeps while it lives; set by the stream
  std::string_view name = {};     ///< details, see SpanFacts; valid during the call
  SpanArgs args = {};             ///< see SpanFacts

  std::int64_t ns() const { return end_ns - begin_ns; }
};

/// From `at_ns` on the quantity has this value.
struct Level {
  LevelKind kind = LevelKind::kDeviceMemory;
  std::int64_t at_ns = 0;
  std::int64_t value = 0;
};

/// Called from any thread, under no lock, when a span of a wanted kind has ended. Spans of one
/// thread arrive in the order of their ends.
class SpanListener {
 public:
  virtual ~SpanListener() = default;
  virtual void on_span(const Span& span) = 0;
  virtual void on_level(const Level&) {}
};

class SpanStream {
 public:
  /// Spans whose kind has a metric feed it.
  SpanStream(const Clock& clock, Metrics& metrics);
  SpanStream(const SpanStream&) = delete;
  SpanStream& operator=(const SpanStream&) = delete;

  const Clock& clock() const { return clock_; }
  Metrics& metrics() const { return metrics_; }

  /// From now on calls the listener, which must outlive the stream's use, for spans of these kinds,
  /// and for levels if `levels`. A second call changes the kinds; with none, calls end except those
  /// under way. At most kMaxListeners listeners.
  void listen(SpanListener& listener, SpanKinds kinds, bool levels = false);

  /// Whether this kind feeds a metric or has a listener.
  bool wants(SpanKind kind) const { return fed_.contains(kind) || is_heard(kind); }
  /// Whether this kind has a listener: only then names and costly arguments are made.
  bool is_heard(SpanKind kind) const {
    return heard_.load(std::memory_order_relaxed).contains(kind);
  }
  bool wants_levels() const { return levels_.load(std::memory_order_relaxed); }

  void record(Span span);
  void level(LevelKind kind, std::int64_t value);

  static constexpr std::size_t kMaxListeners = 8;

 private:
  struct Seat {
    std::atomic<SpanListener*> listener{nullptr};
    std::atomic<SpanKinds> kinds{SpanKinds{}};
    std::atomic<bool> levels{false};
  };

  const Clock& clock_;
  Metrics& metrics_;
  const SpanKinds fed_;  ///< kinds with a metric
  std::mutex mutex_;     ///< of listen()
  std::array<Seat, kMaxListeners> seats_;
  std::atomic<SpanKinds> heard_{SpanKinds{}};
  std::atomic<bool> levels_{false};
};

/// Records the time from construction to destruction, if the stream wants this kind.
class ScopedSpan {
 public:
  /// `span`: all members except the times.
  ScopedSpan(SpanStream& stream, const Span& span)
      : stream_(stream.wants(span.kind) ? &stream : nullptr), span_(span) {
    if (stream_ != nullptr) span_.begin_ns = stream_->clock().now_ns();
  }
  ScopedSpan(SpanStream& stream, SpanKind kind, std::int64_t step = -1)
      : ScopedSpan(stream, Span{.kind = kind, .step = step}) {}
  ~ScopedSpan() {
    if (stream_ == nullptr) return;
    span_.end_ns = stream_->clock().now_ns();
    stream_->record(span_);
  }
  ScopedSpan(const ScopedSpan&) = delete;
  ScopedSpan& operator=(const ScopedSpan&) = delete;

  /// Arguments, which may be set until the end.
  SpanArgs& args() { return span_.args; }

 private:
  SpanStream* stream_;
  Span span_;
};

/// The same, but the stream may be null.
class OptionalSpan {
 public:
  OptionalSpan(SpanStream* stream, const Span& span) {
    if (stream != nullptr) span_.emplace(*stream, span);
  }

 private:
  std::optional<ScopedSpan> span_;
};

}  // namespace lockstep
