// Records the spans of some steps, and those outside of steps in the same time. Between start() and
// stop() a span costs a copy of 88 bytes under a lock; before and after that nothing, since the
// recorder is not registered then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/spans.h"
#include "core/observe/program_table.h"
#include "trainer/timeline/recorded_spans.h"

namespace lockstep {

class SpanRecorder final : public SpanListener {
 public:
  /// Records spans of the window's steps and spans of no step. Both references must outlive the
  /// recording. Keeps at most `max_events` spans and levels, and counts the others.
  SpanRecorder(SpanStream& spans, const ProgramTable& programs, const StepWindow& window,
               std::size_t max_events = kMaxEvents);
  ~SpanRecorder() override;
  SpanRecorder(const SpanRecorder&) = delete;
  SpanRecorder& operator=(const SpanRecorder&) = delete;

  void start();
  void stop();
  /// Returns the recording, once; call it after stop().
  RecordedSpans take();

  void on_span(const Span& span) override;
  void on_level(const Level& level) override;

  static constexpr std::size_t kMaxEvents = std::size_t{1} << 20;

 private:
  bool has_room();
  void remember_program(std::int64_t id);
  std::uint32_t intern(std::string_view name);

  SpanStream& spans_;
  const ProgramTable& programs_;
  StepWindow window_;
  std::size_t max_events_;
  std::mutex mutex_;
  std::size_t events_ = 0;
  /// Blocks of equal size, so that no thread waits while a large vector is moved.
  std::vector<std::vector<RecordedSpan>> blocks_;
  std::int64_t last_program_ = -1;
  std::unordered_map<std::string, std::uint32_t> name_ids_;
  RecordedSpans recorded_;  ///< without spans
};

}  // namespace lockstep
