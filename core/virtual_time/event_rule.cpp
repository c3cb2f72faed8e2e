#include "core/virtual_time/event_rule.h"

#include <algorithm>

#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMillion = 1'000'000;

/// Begin of the last micro-batch.
std::int64_t last_micro_batch(const StepDurations& step, std::int64_t micro_batches,
                              std::int64_t begin_ns) {
  return begin_ns + (micro_batches - 1) * (step.micro_batch_ns + step.sums_ns);
}

/// Remembers the last `count` times, oldest first. Before the first `count` ones it was always.
std::int64_t oldest_of(const std::deque<std::int64_t>& times, std::size_t count) {
  return times.size() < count ? 0 : times.front();
}
void remember(std::deque<std::int64_t>& times, std::size_t count, std::int64_t time) {
  times.push_back(time);
  if (times.size() > count) times.pop_front();
}

}  // namespace

std::int64_t JobLink::carry(std::int64_t ready_ns, std::int64_t all_reduce_ns) {
  free_ns_ = std::max(free_ns_, ready_ns) + all_reduce_ns;
  return free_ns_;
}

std::vector<std::int64_t> bucket_times(const StepDurations& step, std::int64_t micro_batches,
                                       std::int64_t begin_ns) {
  const std::int64_t last = last_micro_batch(step, micro_batches, begin_ns);
  std::vector<std::int64_t> out;
  out.reserve(step.buckets.size());
  for (const BucketDuration& bucket : step.buckets) out.push_back(last + bucket.ready_ns);
  return out;
}

std::vector<std::int64_t> all_reduce_ends(const StepDurations& step,
                                          std::span<const std::int64_t> latest_ns, JobLink& link) {
  LS_CHECK(latest_ns.size() == step.buckets.size(), "{} times for {} buckets", latest_ns.size(),
           step.buckets.size());
  std::vector<std::int64_t> out;
  out.reserve(latest_ns.size());
  for (std::size_t i = 0; i < latest_ns.size(); ++i)
    out.push_back(link.carry(latest_ns[i], step.buckets[i].all_reduce_ns));
  return out;
}

StepTimes step_times(const StepDurations& step, std::int64_t micro_batches, std::int64_t begin_ns,
                     std::span<const std::int64_t> reduced_ns) {
  StepTimes out{.begin_ns = begin_ns};
  out.computed_ns = last_micro_batch(step, micro_batches, begin_ns) + step.micro_batch_ns;
  std::int64_t end = out.computed_ns;
  for (std::size_t i = 0; i < reduced_ns.size(); ++i) {
    const std::int64_t lasts = step.buckets[i].all_reduce_ns;
    end = reduced_ns[i];
    out.hidden_ns += std::clamp<std::int64_t>(out.computed_ns - (end - lasts), 0, lasts);
    out.all_reduce_ns += lasts;
  }
  // What the commands lost they lost before their end; a bucket that is sent by then is not late
  // for it, so the loss counts behind the later of the two.
  out.reduced_ns =
      std::max(out.computed_ns, end) + out.hidden_ns * step.interference_ppm / kMillion;
  out.end_ns = out.reduced_ns + step.update_ns + step.waits_ns;
  return out;
}

StepTimes steady_step(const StepDurations& step, std::int64_t micro_batches) {
  JobLink link;
  return step_times(step, micro_batches, 0,
                    all_reduce_ends(step, bucket_times(step, micro_batches, 0), link));
}

VirtualStream::VirtualStream(const StreamOptions& options)
    : options_(options), workers_ns_(static_cast<std::size_t>(options.loader_workers), 0) {}

CommandBegin VirtualStream::begin(std::span<const HostEvent> events, const VirtualSpans& spans) {
  std::int64_t inputs = 0;
  waited_ns_ = 0;
  for (const HostEvent& event : events) {
    switch (event.kind) {
      case HostEvent::Kind::kWork: move_host(host_ns_ + event.ns, event.what, spans); break;
      case HostEvent::Kind::kWaitUntil:
        move_host(event.ns, SpanKind::kDeviceLockWait, spans);
        break;
      case HostEvent::Kind::kTakeBatch:
        take_batch(event, spans);
        inputs = copied_ns_;
        break;
    }
  }
  const auto depth = static_cast<std::size_t>(options_.queue_depth);
  move_host(oldest_of(taken_, depth), SpanKind::kQueueWait, spans);
  const std::int64_t taken = std::max(host_ns_, free_ns_);
  remember(taken_, depth, taken);
  CommandBegin out{.begin_ns = std::max(taken, inputs)};
  out.idle_ns = out.begin_ns - free_ns_;
  out.inputs_ns = std::min(out.idle_ns, waited_ns_ + out.begin_ns - taken);
  spans.tell(SpanKind::kExposedGap, VirtualThread::kDevice, free_ns_, out.begin_ns,
             {out.inputs_ns});
  return out;
}

void VirtualStream::move_host(std::int64_t to_ns, SpanKind what, const VirtualSpans& spans) {
  if (to_ns <= host_ns_) return;
  spans.tell(what, VirtualThread::kHost, host_ns_, to_ns);
  host_ns_ = to_ns;
}

void VirtualStream::take_batch(const HostEvent& batch, const VirtualSpans& spans) {
  const auto prefetch = static_cast<std::size_t>(options_.prefetch);
  const auto device_prefetch = static_cast<std::size_t>(options_.device_prefetch);
  const auto worker = std::ranges::min_element(workers_ns_);
  const std::int64_t fetch = std::max(*worker, oldest_of(copies_ns_, prefetch));
  *worker = fetch + batch.ns;
  spans.tell(SpanKind::kFetch, VirtualThread::kFirstWorker, fetch, *worker, {batch.samples}, {},
             static_cast<std::size_t>(worker - workers_ns_.begin()));
  fetched_ns_ = std::max(fetched_ns_, *worker);
  const std::int64_t copy =
      std::max({fetched_ns_, copied_ns_, oldest_of(batches_ns_, device_prefetch)});
  copied_ns_ = copy + batch.copy_ns;
  spans.tell(SpanKind::kTransferToDevice, VirtualThread::kTransfer, copy, copied_ns_,
             {batch.bytes});
  remember(copies_ns_, prefetch, copy);
  waited_ns_ += std::max<std::int64_t>(copy - host_ns_, 0);
  move_host(copy, SpanKind::kInputWait, spans);
  remember(batches_ns_, device_prefetch, host_ns_);
}

}  // namespace lockstep
