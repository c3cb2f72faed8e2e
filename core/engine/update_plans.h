// Update programs by structure. Steps on batches of different shapes share one, which is compiled
// once.
#pragma once

#include <cstdint>
#include <functional>
#include <list>

#include "core/base/hash.h"
#include "core/runtime/plan.h"

namespace lockstep {

class UpdatePlans {
 public:
  /// The plan of a program, `compile`d unless one of the last few had this structure.
  const Plan& get(const Graph& program, const std::function<Plan()>& compile);
  std::int64_t compiled() const { return compiled_; }

 private:
  struct Entry {
    Hash128 hash;
    Graph program;  ///< compared in full
    Plan plan;
  };
  static constexpr std::size_t kKept = 4;
  std::list<Entry> entries_;  ///< most recently used first
  std::int64_t compiled_ = 0;
};

}  // namespace lockstep
