#include "core/virtual_time/virtual_clock.h"

#include <cmath>
#include <utility>

#include "core/base/clock.h"

namespace lockstep {
namespace {

std::int64_t ns_of_ms(double ms) {
  return std::llround(ms * 1e6);
}

}  // namespace

void VirtualTotals::add(const VirtualStep& step) {
  const StepTimes& times = step.times;
  ++steps;
  all_ns += step.ns();
  gradient_ns += times.computed_ns - times.begin_ns;
  exposed_comm_ns += times.exposed_ns();
  update_ns += times.end_ns - times.reduced_ns;
  exposed_gap_ns += step.begin.idle_ns - step.begin.inputs_ns;
  input_wait_ns += step.begin.inputs_ns;
}

VirtualClock::VirtualClock(const VirtualClockOptions& options)
    : options_(options), stream_(options.stream) {}

void VirtualClock::take_batch(std::int64_t samples, std::int64_t bytes, std::int64_t cpu_ns) {
  add_measured();
  std::int64_t fetch = 0;
  switch (options_.host.time) {
    case HostTime::kNone: break;
    case HostTime::kStated: fetch = samples * ns_of_ms(options_.host.sample_ms); break;
    case HostTime::kMeasured:
      fetch = std::llround(options_.host.factor * static_cast<double>(cpu_ns));
      break;
  }
  events_.push_back({.kind = HostEvent::Kind::kTakeBatch,
                     .ns = fetch,
                     .copy_ns = copy_ns(bytes),
                     .samples = samples,
                     .bytes = bytes});
}

void VirtualClock::compiled() {
  add_measured(SpanKind::kCompile);
  if (options_.host.time == HostTime::kStated)
    add_work(ns_of_ms(options_.host.compile_ms), SpanKind::kCompile);
}

void VirtualClock::read(std::int64_t exists_ns, std::int64_t bytes) {
  if (outside_) return;
  add_measured();
  events_.push_back({HostEvent::Kind::kWaitUntil, exists_ns + copy_ns(bytes)});
}

std::vector<HostEvent> VirtualClock::hand_over(bool is_step) {
  add_measured();
  if (is_step && options_.host.time == HostTime::kStated)
    add_work(ns_of_ms(options_.host.step_ms), SpanKind::kTrace);
  return std::exchange(events_, {});
}

void VirtualClock::outside(const std::function<void()>& work) {
  add_measured();
  struct Outside {
    bool& flag;
    explicit Outside(bool& flag_) : flag(flag_) { flag = true; }
    ~Outside() { flag = false; }
  };
  {
    const Outside now(outside_);
    work();
  }
  if (options_.host.time == HostTime::kMeasured) cpu_ns_ = thread_cpu_ns();
}

void VirtualClock::begin(std::span<const HostEvent> events, VirtualExecution& execution) {
  execution.begin = stream_.begin(events, spans_of(execution.step));
  if (!options_.disturbances.change_no_step() && execution.step >= 0) {
    execution.disturbed =
        disturbed(*execution.durations, options_.disturbances, options_.rank, execution.step);
    execution.durations = &execution.disturbed;
  }
  execution.ready_ns =
      bucket_times(*execution.durations, execution.micro_batches, execution.begin.begin_ns);
  execution.latest_ns = execution.ready_ns;
}

std::int64_t VirtualClock::end(const VirtualExecution& execution) {
  const std::vector<std::int64_t> reduced =
      all_reduce_ends(*execution.durations, execution.latest_ns, link_);
  const StepTimes times =
      step_times(*execution.durations, execution.micro_batches, execution.begin.begin_ns, reduced);
  stream_.end(times.end_ns);
  tell_execution(spans_of(execution.step), execution, times, reduced);
  const std::lock_guard lock(mutex_);
  last_end_ns_ = times.end_ns;
  if (execution.step >= 0) {
    const double peak = options_.peak_flops;
    const double ideal_ns = peak > 0 ? execution.durations->flops / peak * 1e9 : 0;
    const VirtualStep step{execution.step, times, execution.begin, ideal_ns};
    if (had_first_step_) totals_.add(step);
    had_first_step_ = true;
    if (options_.keeps_steps) steps_.push_back(step);
  }
  return times.end_ns;
}

void VirtualClock::copy(std::span<const HostEvent> events, std::int64_t bytes) {
  constexpr std::int64_t kNoStep = -1;
  const VirtualSpans spans = spans_of(kNoStep);
  const std::int64_t begin = stream_.begin(events, spans).begin_ns;
  const std::int64_t end = begin + copy_ns(bytes);
  stream_.end(end);
  spans.tell(SpanKind::kSnapshot, VirtualThread::kDevice, begin, end, {bytes});
  const std::lock_guard lock(mutex_);
  last_copy_ = {begin, end};
  last_end_ns_ = end;
}

std::vector<VirtualStep> VirtualClock::take_steps(std::int64_t last) {
  const std::lock_guard lock(mutex_);
  std::vector<VirtualStep> out;
  while (!steps_.empty() && steps_.front().step <= last) {
    out.push_back(steps_.front());
    steps_.pop_front();
  }
  return out;
}

VirtualTotals VirtualClock::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

std::int64_t VirtualClock::end_of_last_ns() const {
  const std::lock_guard lock(mutex_);
  return last_end_ns_;
}

VirtualCopy VirtualClock::last_copy() const {
  const std::lock_guard lock(mutex_);
  return last_copy_;
}

std::int64_t VirtualClock::save_ns(double seconds) const {
  switch (options_.host.time) {
    case HostTime::kNone: return 0;
    case HostTime::kStated: return ns_of_ms(options_.host.save_ms);
    case HostTime::kMeasured: return to_ns(options_.host.factor * seconds);
  }
  __builtin_unreachable();
}

std::int64_t VirtualClock::copy_ns(std::int64_t bytes) const {
  if (options_.host_link_bytes_per_s == 0) return 0;
  return to_ns(static_cast<double>(bytes) / options_.host_link_bytes_per_s);
}

void VirtualClock::add_work(std::int64_t ns, SpanKind what) {
  if (ns > 0) events_.push_back({.kind = HostEvent::Kind::kWork, .ns = ns, .what = what});
}

void VirtualClock::add_measured(SpanKind what) {
  if (options_.host.time != HostTime::kMeasured) return;
  const std::int64_t now = thread_cpu_ns();
  if (cpu_ns_ >= 0)
    add_work(std::llround(options_.host.factor * static_cast<double>(now - cpu_ns_)), what);
  cpu_ns_ = now;
}

}  // namespace lockstep
