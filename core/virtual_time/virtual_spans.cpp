#include "core/virtual_time/virtual_spans.h"

#include "core/virtual_time/virtual_clock.h"

namespace lockstep {

void VirtualSpans::tell(SpanKind kind, VirtualThread thread, std::int64_t begin_ns,
                        std::int64_t end_ns, const SpanArgs& args, std::string_view name,
                        std::size_t place) const {
  if (listener_ == nullptr || begin_ns == end_ns) return;
  // A step's recording, its execution and its all-reduces are one flow.
  const auto correlation = static_cast<std::uint64_t>(step_ + 1);
  listener_->on_span({.kind = kind,
                      .begin_ns = origin_ns_ + begin_ns,
                      .end_ns = origin_ns_ + end_ns,
                      .step = step_,
                      .correlation = correlation,
                      .thread = static_cast<std::uint64_t>(thread) + place,
                      .name = name,
                      .args = args});
}

void tell_execution(const VirtualSpans& spans, const VirtualExecution& execution,
                    const StepTimes& times, std::span<const std::int64_t> reduced_ns) {
  if (!spans.are_heard()) return;
  const StepDurations& step = *execution.durations;
  std::int64_t now = times.begin_ns;
  for (std::int64_t m = 0; m < execution.micro_batches; ++m) {
    const std::int64_t end = now + step.micro_batch_ns;
    spans.tell(SpanKind::kGradientProgram, VirtualThread::kDevice, now, end, {m});
    now = m + 1 < execution.micro_batches ? end + step.sums_ns : end;
    spans.tell(SpanKind::kGradientSums, VirtualThread::kDevice, end, now, {-1});
  }
  for (std::size_t b = 0; b < reduced_ns.size(); ++b)
    spans.tell(SpanKind::kAllReduce, VirtualThread::kLink,
               reduced_ns[b] - step.buckets[b].all_reduce_ns, reduced_ns[b],
               {static_cast<std::int64_t>(b), step.buckets[b].bytes});
  spans.tell(SpanKind::kExposedComm, VirtualThread::kDevice, now, times.reduced_ns);
  const std::int64_t updated = times.end_ns - step.waits_ns;
  spans.tell(SpanKind::kUpdateProgram, VirtualThread::kDevice, times.reduced_ns, updated);
  spans.tell(SpanKind::kExposedComm, VirtualThread::kDevice, updated, times.end_ns);
  spans.tell(SpanKind::kExecute, VirtualThread::kDevice, times.begin_ns, times.end_ns,
             {-1, -1, execution.micro_batches}, execution.name);
}

}  // namespace lockstep
