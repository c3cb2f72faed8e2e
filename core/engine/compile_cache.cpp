#include "core/engine/compile_cache.h"

#include <utility>

#include "core/ir/structure.h"
#include "core/runtime/compiled_step.h"

namespace lockstep {

CachedStep* CompileCache::find(const Hash128& hash, const Graph& step) {
  const auto [first, last] = index_.equal_range(hash);
  for (auto candidate = first; candidate != last; ++candidate) {
    const Steps::iterator entry = candidate->second;
    if (!structurally_equal(entry->step.compiled->step, step)) continue;
    steps_.splice(steps_.begin(), steps_, entry);
    return &entry->step;
  }
  return nullptr;
}

std::size_t CompileCache::insert(const Hash128& hash, CachedStep step) {
  steps_.push_front({hash, std::move(step)});
  index_.emplace(hash, steps_.begin());
  std::size_t dropped = 0;
  for (; steps_.size() > max_steps_ && steps_.size() > 1; ++dropped) {
    const auto oldest = std::prev(steps_.end());
    auto named = index_.find(oldest->hash);
    while (named->second != oldest) ++named;
    index_.erase(named);
    steps_.erase(oldest);
  }
  return dropped;
}

}  // namespace lockstep
