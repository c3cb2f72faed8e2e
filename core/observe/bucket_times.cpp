#include "core/observe/bucket_times.h"

#include <algorithm>

#include "core/trace/cut_trace.h"

namespace lockstep {
namespace {

bool is_training_step(const Span& execution) {
  const auto reason = static_cast<SyncReason>(execution.args[1]);
  return reason == SyncReason::kMarkStep || reason == SyncReason::kStepEnd;
}

}  // namespace

void BucketTimes::on_span(const Span& span) {
  switch (span.kind) {
    case SpanKind::kAllReduce: {
      const std::lock_guard lock(mutex_);
      buckets_.push_back(span);
      break;
    }
    case SpanKind::kExposedComm: waits_.emplace_back(span.begin_ns, span.end_ns); break;
    case SpanKind::kCommand:
      if (span.args[1] == 0)
        gradient_end_ns_ = span.end_ns;
      else if (update_begin_ns_ == 0)
        update_begin_ns_ = span.begin_ns;
      break;
    case SpanKind::kExecute: end_execution(span); break;
    default: break;  // not one of kKinds
  }
}

/// Null for the first step of a program.
BucketTimes::Totals* BucketTimes::totals_of(std::int64_t program) {
  if (!totals_.contains(program) && totals_.size() >= kMaxPrograms)
    totals_.erase(std::ranges::min_element(totals_, {},
                                           [](const auto& entry) { return entry.second.steps; }));
  Totals& totals = totals_[program];
  return totals.steps++ == 0 ? nullptr : &totals;
}

/// All buckets of an execution have been told when it ends: its update waited for them.
void BucketTimes::end_execution(const Span& execution) {
  const std::vector<Times> waits = std::exchange(waits_, {});
  const std::int64_t gradient_end = std::exchange(gradient_end_ns_, 0);
  const std::int64_t update_begin = std::exchange(update_begin_ns_, 0);
  const std::lock_guard lock(mutex_);
  const std::vector<Span> buckets = std::exchange(buckets_, {});
  if (!is_training_step(execution)) return;
  Totals* totals = totals_of(execution.args[0]);
  if (totals == nullptr) return;
  const std::int64_t begin = execution.begin_ns;
  if (gradient_end > 0) totals->gradient_end_ns += gradient_end - begin;
  if (update_begin > 0) totals->update_begin_ns += update_begin - begin;
  for (const Span& bucket : buckets) {
    if (bucket.correlation != execution.correlation) continue;  // of an execution that failed
    Sum& sum = totals->buckets[bucket.args[0]];
    sum.bytes += bucket.args[1];
    sum.begin_ns += bucket.begin_ns - begin;
    sum.end_ns += bucket.end_ns - begin;
    for (const auto& [from, to] : waits)
      sum.exposed_ns +=
          std::max<std::int64_t>(std::min(to, bucket.end_ns) - std::max(from, bucket.begin_ns), 0);
  }
}

BucketMeans BucketTimes::means() const {
  const std::lock_guard lock(mutex_);
  const auto most =
      std::ranges::max_element(totals_, {}, [](const auto& entry) { return entry.second.steps; });
  BucketMeans out;
  if (most == totals_.end() || most->second.steps < 2) return out;
  const Totals& totals = most->second;
  out.steps = totals.steps - 1;
  const auto mean_ms = [&](std::int64_t ns) {
    return static_cast<double>(ns) * 1e-6 / static_cast<double>(out.steps);
  };
  out.gradient_end_ms = mean_ms(totals.gradient_end_ns);
  out.update_begin_ms = mean_ms(totals.update_begin_ns);
  for (const auto& [bucket, sum] : totals.buckets)
    out.times.push_back({.bucket = bucket,
                         .bytes = sum.bytes / out.steps,
                         .begin_ms = mean_ms(sum.begin_ns),
                         .end_ms = mean_ms(sum.end_ns),
                         .exposed_ms = mean_ms(sum.exposed_ns)});
  return out;
}

}  // namespace lockstep
