// Finds the compiled form of a step, or makes it: in memory, on disk, by compiling. Ranks that
// share a folder share the work: one compiles, the others wait for its artifact.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/base/log.h"
#include "core/base/spans.h"
#include "core/engine/artifact_store.h"
#include "core/engine/compile.h"
#include "core/engine/compile_cache.h"
#include "core/engine/known_structures.h"
#include "core/engine/update_plans.h"
#include "core/kernels/kernel_cache.h"
#include "core/observe/compilation_journal.h"
#include "core/observe/pass_times.h"
#include "core/observe/program_dump.h"
#include "core/observe/program_table.h"

namespace lockstep {

/// Counters: CachedCompile (found in memory), PersistentCacheHit (on disk), UncachedCompile
/// (compiled), PersistentCacheMiss (compiled although there is a folder), CompileCacheEviction.
/// Metrics: CompileTime, for programs not found in memory; ArtifactLoadTime, ArtifactWaitTime,
/// ArtifactSaveTime, which are parts of it.
class StepCompiler {
 public:
  /// The references must outlive the compiler.
  StepCompiler(const CompileOptions& options, SpanStream& spans, Log& log);

  /// `number` is the training step, for spans; `cut` says where the step was cut and why. Error
  /// kUsage for steps that cannot be split, that call host functions that are not registered, or
  /// that exceed the number of programs (CompileOptions::stop_beyond).
  std::shared_ptr<const LoadedStep> get(Graph step, std::int64_t number, const Cut& cut);
  /// The same without running it: no kernel is built, the disk is not used, and the journal records
  /// nothing. `reason` is for the log.
  std::shared_ptr<const CompiledStep> plan(Graph step, std::int64_t number,
                                           std::string_view reason);

  /// All programs that get() returned, by their numbers in spans.
  const ProgramTable& programs() const { return programs_; }
  /// Why they were compiled.
  CompilationJournal& journal() { return journal_; }

 private:
  /// A step whose program is being made.
  struct Making {
    std::int64_t number;
    std::string_view reason;
    Hash128 structure;
    bool from_disk = false;
    std::vector<Difference> on_disk = {};  ///< why the artifacts there do not fit
  };
  CachedStep* look_up(const Hash128& hash, const Graph& step, std::int64_t number);
  std::shared_ptr<LoadedStep> load_or_compile(Graph step, Making& making);
  std::shared_ptr<LoadedStep> load(const Hash128& key, std::string_view identity, const Graph& step,
                                   Making& making);
  std::shared_ptr<LoadedStep> compile(Graph step, const Making& making);
  std::shared_ptr<const LoadedStep> numbered(std::shared_ptr<LoadedStep> loaded,
                                             std::string_view reason, const Hash128& structure);
  void tell(const CompilationJournal::Miss& miss, const LoadedStep& loaded, const Making& making,
            double seconds);
  void keep(const Hash128& hash, CachedStep step);

  CompileOptions options_;
  SpanStream& spans_;
  Log& log_;
  KernelCache kernels_;
  UpdatePlans updates_;
  CompileCache cache_;
  ArtifactStore artifacts_;
  ProgramTable programs_;
  KnownStructures known_;
  CompileSettings settings_;  ///< of the artifacts
  PassTimes pass_times_;
  CompilationJournal journal_;
  ProgramDump dump_;
};

}  // namespace lockstep
