// Compiled steps in memory, by structure. The hash only finds candidates: a hit is a step whose
// whole structure equals the requested one. Beyond a number of steps the least recently used is
// dropped; executions in flight keep theirs alive.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <unordered_map>

#include "core/base/hash.h"
#include "core/ir/graph.h"

namespace lockstep {

struct CompiledStep;
struct LoadedStep;

struct CachedStep {
  std::shared_ptr<const CompiledStep> compiled;
  std::shared_ptr<const LoadedStep> loaded;  ///< null until it has to run
};

class CompileCache {
 public:
  /// Keeps at least one.
  explicit CompileCache(std::size_t max_steps) : max_steps_(max_steps) {}

  /// The compiled form of `step`, now the most recently used, or null. `hash` is step's
  /// structural_hash. Valid until the next insert.
  CachedStep* find(const Hash128& hash, const Graph& step);
  /// Returns the number of steps that were dropped for it.
  std::size_t insert(const Hash128& hash, CachedStep step);

  std::size_t size() const { return steps_.size(); }

 private:
  struct Entry {
    Hash128 hash;
    CachedStep step;
  };
  using Steps = std::list<Entry>;

  std::size_t max_steps_;
  Steps steps_;  ///< most recently used first
  std::unordered_multimap<Hash128, Steps::iterator, Hash128Hasher> index_;
};

}  // namespace lockstep
