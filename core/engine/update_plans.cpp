#include "core/engine/update_plans.h"

#include <algorithm>

#include "core/ir/structure.h"

namespace lockstep {

const Plan& UpdatePlans::get(const Graph& program, const std::function<Plan()>& compile) {
  const Hash128 hash = structural_hash(program);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.hash == hash && structurally_equal(entry.program, program);
  });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return found->plan;
  }
  Plan plan = compile();
  ++compiled_;
  entries_.push_front({hash, program, std::move(plan)});
  if (entries_.size() > kKept) entries_.pop_back();
  return entries_.front().plan;
}

}  // namespace lockstep
