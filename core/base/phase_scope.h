// A phase within another: work that the loop's thread is led to while it does something else.
#pragma once

#include "core/base/activity.h"

namespace lockstep {

/// While alive, the thread that runs the loop is in a phase; afterwards, in that before.
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
