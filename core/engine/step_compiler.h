// Finds the compiled form of a step, or makes it: in memory, on disk, by compiling. Ranks that
// share a folder share the work: one compiles, the others wait for what it keeps.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/base/log.h"
#include "core/base/spans.h"
#include "core/engine/artifact_store.h"
#include "core/engine/compile.h"
#include "core/engine/compile_cache.h"
#include "core/engine/program_table.h"

namespace lockstep {

/// Counters: CachedCompile (found in memory), PersistentCacheHit (on disk), UncachedCompile
/// (compiled), PersistentCacheMiss (compiled although there is a folder), CompileCacheEviction.
/// Metrics: CompileTime, everything but what was found in memory; ArtifactLoadTime,
/// ArtifactWaitTime, ArtifactSaveTime, parts of it.
class StepCompiler {
 public:
  /// The references must outlive the compiler.
  StepCompiler(const CompileOptions& options, SpanStream& spans, Log& log);

  /// `number` is the training step, for spans; `reason` says in the log why it was cut. Error
  /// kUsage for steps that cannot be split or that call host functions that are not registered.
  std::shared_ptr<const LoadedStep> get(Graph step, std::int64_t number, std::string_view reason);
  /// The same for who will not run it: no kernel is built, and the disk is left alone.
  std::shared_ptr<const CompiledStep> plan(Graph step, std::int64_t number,
                                           std::string_view reason);

  /// All programs that get() gave, by the numbers that spans tell.
  const ProgramTable& programs() const { return programs_; }

 private:
  CachedStep* look_up(const Hash128& hash, const Graph& step, std::int64_t number);
  std::shared_ptr<LoadedStep> load_or_compile(Graph step, std::int64_t number,
                                              std::string_view reason);
  std::shared_ptr<LoadedStep> load(const Hash128& key, std::string_view identity, const Graph& step,
                                   std::int64_t number);
  std::shared_ptr<LoadedStep> compile(Graph step, std::int64_t number, std::string_view reason);
  std::shared_ptr<const LoadedStep> numbered(std::shared_ptr<LoadedStep> loaded);
  void keep(const Hash128& hash, CachedStep step);

  CompileOptions options_;
  SpanStream& spans_;
  Log& log_;
  KernelCache kernels_;
  CompileCache cache_;
  ArtifactStore artifacts_;
  ProgramTable programs_;
};

}  // namespace lockstep
