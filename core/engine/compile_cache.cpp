#include "core/engine/compile_cache.h"

#include "core/ir/structure.h"

namespace lockstep {

std::shared_ptr<const CompiledStep> CompileCache::find(const Hash128& hash,
                                                       const Graph& step) const {
  const auto bucket = entries_.find(hash);
  if (bucket == entries_.end()) return nullptr;
  for (const auto& compiled : bucket->second)
    if (structurally_equal(compiled->step, step)) return compiled;
  return nullptr;
}

void CompileCache::insert(const Hash128& hash, std::shared_ptr<const CompiledStep> compiled) {
  entries_[hash].push_back(std::move(compiled));
}

}  // namespace lockstep
