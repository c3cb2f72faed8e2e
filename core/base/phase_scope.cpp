#include "core/base/phase_scope.h"

namespace lockstep {

PhaseScope::PhaseScope(Activity activity, Phase phase, std::int64_t step) noexcept
    : activity_(activity) {
  const ActivityPage* page = activity.page();
  if (page == nullptr) return;
  outer_ = static_cast<Phase>(page->host.phase.load(std::memory_order_relaxed));
  outer_step_ = page->host.step_plus_one.load(std::memory_order_relaxed) - 1;
  activity.begin(phase, step);
}

PhaseScope::~PhaseScope() {
  activity_.begin(outer_, outer_step_);
}

}  // namespace lockstep
