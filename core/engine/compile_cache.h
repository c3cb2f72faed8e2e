// Compiled steps by structure. The hash only finds candidates: a hit is a step whose whole
// structure equals the asked one.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "core/base/hash.h"
#include "core/engine/compile.h"

namespace lockstep {

class CompileCache {
 public:
  /// The compiled form of `step`, or null. `hash` is step's structural_hash.
  std::shared_ptr<const CompiledStep> find(const Hash128& hash, const Graph& step) const;
  void insert(const Hash128& hash, std::shared_ptr<const CompiledStep> compiled);

 private:
  std::unordered_map<Hash128, std::vector<std::shared_ptr<const CompiledStep>>, Hash128Hasher>
      entries_;
};

}  // namespace lockstep
