#include "core/base/spans.h"

#include <functional>
#include <thread>

#include "core/base/error.h"

namespace lockstep {
namespace {

SpanKinds kinds_with_metrics() {
  SpanKinds out;
  for (std::size_t i = 0; i < kSpanKindCount; ++i) {
    const auto kind = static_cast<SpanKind>(i);
    if (facts_of(kind).metric != nullptr) out = out | SpanKinds{kind};
  }
  return out;
}

}  // namespace

SpanStream::SpanStream(const Clock& clock, Metrics& metrics)
    : clock_(clock), metrics_(metrics), fed_(kinds_with_metrics()) {}

void SpanStream::listen(SpanListener& listener, SpanKinds kinds, bool levels) {
  const std::lock_guard lock(mutex_);
  Seat* own = nullptr;
  for (Seat& seat : seats_) {
    const SpanListener* taken = seat.listener;
    if (taken == &listener || (taken == nullptr && own == nullptr)) own = &seat;
    if (taken == &listener) break;
  }
  LS_CHECK(own != nullptr, "more than {} listen to spans", kMaxListeners);
  own->kinds = kinds;
  own->levels = levels;
  const bool hears = levels || !kinds.empty();
  own->listener = hears ? &listener : nullptr;
  SpanKinds heard;
  bool any_levels = false;
  for (const Seat& seat : seats_) {
    if (seat.listener == nullptr) continue;
    heard = heard | seat.kinds;
    any_levels = any_levels || seat.levels;
  }
  heard_ = heard;
  levels_ = any_levels;
}

void SpanStream::record(Span span) {
  if (fed_.contains(span.kind))
    metrics_.sample(facts_of(span.kind).metric, static_cast<double>(span.ns()));
  if (!is_heard(span.kind)) return;
  span.thread = std::hash<std::thread::id>{}(std::this_thread::get_id());
  for (const Seat& seat : seats_) {
    SpanListener* listener = seat.listener;
    if (listener != nullptr && seat.kinds.load().contains(span.kind)) listener->on_span(span);
  }
}

void SpanStream::level(LevelKind kind, std::int64_t value) {
  if (!wants_levels()) return;
  const Level level{kind, clock_.now_ns(), value};
  for (const Seat& seat : seats_) {
    SpanListener* listener = seat.listener;
    if (listener != nullptr && seat.levels) listener->on_level(level);
  }
}

}  // namespace lockstep
