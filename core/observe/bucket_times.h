// When the buckets of gradients are all-reduced within a step, from the spans of a rank: means over
// the steps of each program. The first step of each program is left out, as in the ledger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/base/spans.h"

namespace lockstep {

/// Means over steps; ms since the execution's begin.
struct BucketTime {
  std::int64_t bucket = 0;  ///< its number
  std::int64_t bytes = 0;
  double begin_ms = 0;  ///< its last gradient is computed
  double end_ms = 0;    ///< its sum over the ranks is there
  /// Of that, how long the device did nothing but wait for buckets. Buckets that are under way at
  /// once each count it.
  double exposed_ms = 0;
};

/// Of one program.
struct BucketMeans {
  std::int64_t steps = 0;         ///< that were measured; 0: none was
  double gradient_end_ms = 0;     ///< of the last command of the last micro-batch; 0 without one
  double update_begin_ms = 0;     ///< of the first command; 0 without one
  std::vector<BucketTime> times;  ///< by number; empty on a rank that is alone
};

class BucketTimes final : public SpanListener {
 public:
  /// The kinds that it needs, see SpanStream::listen.
  static constexpr SpanKinds kKinds{SpanKind::kAllReduce, SpanKind::kExposedComm,
                                    SpanKind::kExecute, SpanKind::kCommand};
  static constexpr std::size_t kMaxPrograms = 256;

  void on_span(const Span& span) override;

  /// Of the program that ran most.
  BucketMeans means() const;

 private:
  using Times = std::pair<std::int64_t, std::int64_t>;  ///< ns [first, second)
  struct Sum {
    std::int64_t bytes = 0;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t exposed_ns = 0;
  };
  struct Totals {
    std::int64_t steps = 0;  ///< with the first one
    std::int64_t gradient_end_ns = 0;
    std::int64_t update_begin_ns = 0;
    std::map<std::int64_t, Sum> buckets;
  };
  void end_execution(const Span& execution);
  Totals* totals_of(std::int64_t program);

  // Of the device's thread, of the execution that is under way:
  std::vector<Times> waits_;
  std::int64_t gradient_end_ns_ = 0;
  std::int64_t update_begin_ns_ = 0;

  mutable std::mutex mutex_;
  std::vector<Span> buckets_;              ///< of the execution that is under way
  std::map<std::int64_t, Totals> totals_;  ///< by number of the program
};

}  // namespace lockstep
