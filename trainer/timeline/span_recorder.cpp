#include "trainer/timeline/span_recorder.h"

#include <utility>

namespace lockstep {
namespace {

constexpr std::size_t kBlock = 4096;

}  // namespace

SpanRecorder::SpanRecorder(SpanStream& spans, const ProgramTable& programs,
                           const StepWindow& window, std::size_t max_events)
    : spans_(spans), programs_(programs), window_(window), max_events_(max_events) {}

SpanRecorder::~SpanRecorder() {
  stop();
}

void SpanRecorder::start() {
  spans_.listen(*this, SpanKinds::all(), /*levels=*/true);
}

void SpanRecorder::stop() {
  spans_.listen(*this, {});
}

void SpanRecorder::on_span(const Span& span) {
  if (span.step >= 0 && !window_.contains(span.step)) return;
  const std::lock_guard lock(mutex_);
  if (!has_room()) return;
  if (span.kind == SpanKind::kCommand) remember_program(span.args[0]);
  if (blocks_.empty() || blocks_.back().size() == kBlock) blocks_.emplace_back().reserve(kBlock);
  blocks_.back().push_back({.kind = span.kind,
                            .name = intern(span.name),
                            .begin_ns = span.begin_ns,
                            .end_ns = span.end_ns,
                            .step = span.step,
                            .correlation = span.correlation,
                            .thread = span.thread,
                            .args = span.args});
}

void SpanRecorder::on_level(const Level& level) {
  const std::lock_guard lock(mutex_);
  if (has_room()) recorded_.levels.push_back(level);
}

bool SpanRecorder::has_room() {
  if (events_ < max_events_) {
    ++events_;
    return true;
  }
  ++recorded_.dropped;
  return false;
}

void SpanRecorder::remember_program(std::int64_t id) {
  if (id == last_program_) return;
  last_program_ = id;
  if (auto program = programs_.find(id)) recorded_.programs.emplace(id, std::move(program));
}

std::uint32_t SpanRecorder::intern(std::string_view name) {
  if (name.empty()) return 0;
  const auto [at, is_new] =
      name_ids_.try_emplace(std::string(name), static_cast<std::uint32_t>(recorded_.names.size()));
  if (is_new) recorded_.names.emplace_back(name);
  return at->second;
}

RecordedSpans SpanRecorder::take() {
  const std::lock_guard lock(mutex_);
  RecordedSpans out = std::exchange(recorded_, {});
  out.spans.reserve(events_);
  for (const auto& block : std::exchange(blocks_, {}))
    out.spans.insert(out.spans.end(), block.begin(), block.end());
  name_ids_.clear();
  events_ = 0;
  return out;
}

}  // namespace lockstep
