// Advice at debug level 1: what makes a run slow. Checked once a step, on the host's thread; not at
// lower debug levels.
//
// Every kWindow steps (mark_steps), over that window:
//   lockstep-profiler: CompileTime too frequent: 11 counts during 12 steps; constant: constant
//   f32[] model.cpp:41 (h.3) had 12 values (1, 2, 3, 4, ..., 9, 10, 11, 12); pass the number as
//   scalar()
//     Graphs were compiled in at least half of the steps, and this is the main cause of most.
//   lockstep-profiler: TransferFromDevice too frequent: 12 counts during 12 steps
//     In at least half of the steps a value was read when the device had nothing queued after it,
//     so that it idles until the host has traced the next step. Read a step or two later. The
//     line whose reads caused the most idle time follows: ", most for boxes.cpp:57".
//   lockstep-profiler: ExecuteTime too slow: 2s000ms000.000us is 20.0 times the median of 40
//   samples
//     The longest execution of the window took more than kSlowFactor times the median, and more
//     than 10 ms.
//   lockstep-profiler: HostCallTime too slow: match_boxes detr.cpp:41 (head) took 42 % of
//   ExecuteTime, 12 calls of 015ms000.000us
//     Functions on the host took more than a tenth of the window's execution time, this one the
//     largest part. The device does nothing else meanwhile.
//   lockstep-profiler: CompileTime too slow: 1m15s000ms000.000us for one graph
//     The longest compilation of the window took more than a minute.
//
// As soon as it is certain, one line for each source line, for the first kMaxNamed of them:
//   lockstep-profiler: f32[8,65] gpt.cpp:41 (lm_head) is an output of step 3 only because a scope
//   still held it: it was neither read nor used
//     A handle was alive at mark_step, which made the tensor an output that had to be written and
//     kept; then it was dropped without being used.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/base/spans.h"
#include "core/explain/tally.h"
#include "core/observe/cuts.h"

namespace lockstep {

class Analysis final : public SpanListener {
 public:
  static constexpr std::int64_t kWindow = 12;
  static constexpr std::int64_t kMinSamples = 10;
  static constexpr double kSlowFactor = 10;
  static constexpr double kMuchOnHost = 0.1;
  static constexpr std::size_t kMaxNamed = 256;  ///< outputs; further ones are ignored

  /// Listens to host calls, if enabled, until it is destroyed. When it is destroyed, no execution
  /// may be queued. The references must outlive it.
  Analysis(SpanStream& spans, const CauseTally& compilations, const Cuts& cuts, Log& log);
  ~Analysis() override;

  bool enabled() const { return log_.debug_level() >= 1; }
  /// Watches an output of `step` that is not the next value of an input, and that messages call
  /// `text`: as long as it lives, its value keeps the result, and sets it as soon as it is needed.
  /// Null if the output is not watched.
  std::shared_ptr<bool> watch_output(std::string text, std::int64_t step);
  /// At every mark_step, once its outputs are watched and its inputs marked as needed.
  void end_step();

 private:
  /// A metric that should not grow in every step, and its counter.
  struct Frequency {
    const char* metric;
    const char* counter;
    std::int64_t at_window_start = 0;
    std::int64_t at_last_step = 0;
    std::int64_t steps_grown = 0;
  };
  struct Output {
    std::shared_ptr<bool> needed;  ///< shared with the value while that lives
    std::string text;
    std::int64_t step;
  };
  void on_span(const Span& host_call) override;
  void check_outputs();
  void check_frequencies();
  std::string main_cause();
  void check_times();
  void check_host_calls();

  SpanStream& spans_;
  const Metrics& metrics_;
  const CauseTally& compilations_;
  const Cuts& cuts_;
  Log& log_;
  std::int64_t steps_ = 0;  ///< in this window
  std::vector<CauseTally::Row> causes_at_window_start_;
  std::array<Frequency, 2> frequencies_{
      {{"CompileTime", "UncachedCompile"}, {"TransferFromDevice", "DrainingRead"}}};
  struct HostCalls {
    std::int64_t calls = 0;
    std::int64_t ns = 0;
  };
  std::mutex mutex_;  ///< of host_calls_
  std::map<std::string, HostCalls, std::less<>>
      host_calls_;             ///< of this window, by the called function
  double executed_ns_ = 0;     ///< ExecuteTime until this window
  double host_called_ns_ = 0;  ///< HostCallTime until this window
  std::int64_t executions_seen_ = 0;
  std::int64_t compilations_seen_ = 0;
  std::deque<Output> outputs_;
  std::set<std::string> named_;  ///< at most kMaxNamed
};

}  // namespace lockstep
