// A phase within another one: the loop's thread does other work for a while.
#pragma once

#include "core/base/activity.h"

namespace lockstep {

/// While alive, the thread that runs the loop is in this phase; afterwards in the previous one.
class PhaseScope {
 public:
  PhaseScope(Activity activity, Phase phase, std::int64_t step) noexcept;
  ~PhaseScope();
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  Activity activity_;
  Phase outer_ = Phase::kStart;
  std::int64_t outer_step_ = -1;
};

}  // namespace lockstep
