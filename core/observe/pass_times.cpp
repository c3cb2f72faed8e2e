#include "core/observe/pass_times.h"

#include <algorithm>

namespace lockstep {

PassTimes::PassTimes(SpanStream& spans) : spans_(spans) {
  spans.listen(*this, {SpanKind::kPass, SpanKind::kKernels});
}

PassTimes::~PassTimes() {
  spans_.listen(*this, {});
}

void PassTimes::on_span(const Span& span) {
  const std::string_view name = span.kind == SpanKind::kPass ? span.name : "kernels";
  const std::lock_guard lock(mutex_);
  auto found = std::ranges::find(ms_, name, &std::pair<std::string, double>::first);
  if (found == ms_.end()) found = ms_.emplace(ms_.end(), name, 0);
  found->second += 1e-6 * static_cast<double>(span.ns());
}

PassMs PassTimes::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(ms_, {});
}

}  // namespace lockstep
