// A miss of the compile cache and its result, as listeners receive it (among them a file and the
// console).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/hash.h"
#include "core/explain/history.h"
#include "core/observe/pass_times.h"

namespace lockstep {

struct CompilationRecord {
  std::int64_t step = 0;
  std::int64_t program = 0;  ///< its number in spans
  Hash128 structure;         ///< of the graph as it was recorded
  CutContext cut;
  std::int64_t nodes = 0, inputs = 0, outputs = 0;
  Explanation explanation;
  bool loaded = false;      ///< from the disk, instead of compiled
  double seconds = 0;       ///< that this took, with the wait for another rank
  PassMs pass_ms;           ///< of what was compiled
  std::int64_t misses = 0;  ///< so far, this one included
  std::int64_t alike = 0;   ///< of them with the same main cause

  /// "recompiled at step 5 in 1.2 s: input_shape, batch.tokens[length]: 57 -> 61, ...".
  std::string text() const;
};

using CompilationListener = std::function<void(const CompilationRecord&)>;

}  // namespace lockstep
