#include "core/engine/step_compiler.h"

#include <utility>

#include "core/base/duration.h"
#include "core/base/error.h"
#include "core/base/host_memory.h"
#include "core/base/phase_scope.h"
#include "core/engine/step_io.h"
#include "core/ir/structure.h"
#include "core/observe/program_analysis.h"
#include "core/runtime/loaded_step.h"

namespace lockstep {

StepCompiler::StepCompiler(const CompileOptions& options, SpanStream& spans, Log& log)
    : options_(options),
      spans_(spans),
      log_(log),
      kernels_(options.target, log),
      cache_(options.max_programs),
      artifacts_(options.artifacts, log),
      known_(options.artifacts),
      pass_times_(spans),
      journal_({options.max_programs, options.stop_beyond}, log),
      dump_(options.dump_folder, log) {
  if (artifacts_.enabled()) settings_ = compile_settings(options);
}

std::shared_ptr<const LoadedStep> StepCompiler::get(Graph step, std::int64_t number,
                                                    const Cut& cut) {
  const Hash128 hash = [&] {
    const ScopedSpan span(spans_, SpanKind::kHash, number);
    return structural_hash(step);
  }();
  if (CachedStep* found = look_up(hash, step, number)) {
    spans_.metrics().count("CachedCompile");
    journal_.hit(hash, cut);
    if (found->loaded == nullptr)
      found->loaded = numbered(load_step(found->compiled, options_, kernels_), cut.reason, hash);
    return found->loaded;
  }
  CompilationJournal::Miss miss = journal_.begin(step, cut, number);
  const ScopedSpan span(spans_, SpanKind::kCompile, number);
  const PhaseScope phase(options_.activity, Phase::kCompile, number);
  const std::int64_t begin = spans_.clock().now_ns();
  Making making{number, cut.reason, hash};
  (void)pass_times_.take();  // of programs that were planned only
  auto loaded = numbered(artifacts_.enabled() ? load_or_compile(std::move(step), making)
                                              : compile(std::move(step), making),
                         cut.reason, hash);
  const double seconds = seconds_since(spans_.clock(), begin);
  CompilationJournal::add_causes(miss, std::move(making.on_disk));
  tell(miss, *loaded, making, seconds);
  PassMs pass_ms = pass_times_.take();
  if (making.from_disk) pass_ms.clear();
  journal_.finish(std::move(miss), {.program = loaded->id,
                                    .loaded = making.from_disk,
                                    .seconds = seconds,
                                    .pass_ms = std::move(pass_ms)});
  keep(hash, {loaded->compiled, loaded});
  return_freed_memory();  // of drawn parameters, too: 92 MiB for BERT base
  return loaded;
}

std::shared_ptr<const CompiledStep> StepCompiler::plan(Graph step, std::int64_t number,
                                                       std::string_view reason) {
  const Hash128 hash = structural_hash(step);
  if (const CachedStep* found = cache_.find(hash, step)) {
    spans_.metrics().count("CachedCompile");
    return found->compiled;
  }
  const ScopedSpan span(spans_, SpanKind::kCompile, number);
  const PhaseScope phase(options_.activity, Phase::kCompile, number);
  spans_.metrics().count("UncachedCompile");
  const std::int64_t begin = spans_.clock().now_ns();
  auto compiled = compile_step(std::move(step), options_, kernels_, updates_, log_);
  log_.debug(2, "planned at step {} ({}) in {}", number, reason,
             readable_ns(static_cast<double>(spans_.clock().now_ns() - begin)));
  if (dump_.enabled()) dump_.write(program_name(-1, reason, hash), *compiled, "planned");
  keep(hash, {compiled, nullptr});
  return compiled;
}

void StepCompiler::keep(const Hash128& hash, CachedStep step) {
  const std::size_t dropped = cache_.insert(hash, std::move(step));
  if (dropped == 0) return;
  spans_.metrics().count("CompileCacheEviction", static_cast<std::int64_t>(dropped));
  kernels_.drop_unused();
}

CachedStep* StepCompiler::look_up(const Hash128& hash, const Graph& step, std::int64_t number) {
  ScopedSpan span(spans_, SpanKind::kLookup, number);
  CachedStep* found = cache_.find(hash, step);
  span.args() = {found != nullptr ? 1 : 0};
  return found;
}

std::shared_ptr<const LoadedStep> StepCompiler::numbered(std::shared_ptr<LoadedStep> loaded,
                                                         std::string_view reason,
                                                         const Hash128& structure) {
  loaded->id = programs_.add(loaded->compiled);
  loaded->name = program_name(loaded->id, reason, structure);
  if (options_.durations) loaded->durations = options_.durations(*loaded->compiled);
  return loaded;
}

/// Writes the outputs for debugging: analyses, dumps.
void StepCompiler::tell(const CompilationJournal::Miss& miss, const LoadedStep& loaded,
                        const Making& making, double seconds) {
  const bool analyzes = log_.debug_level() >= 1;
  if (!analyzes && !dump_.enabled()) return;
  const std::string how =
      fmt::format("{} in {}", making.from_disk ? "loaded from device.compile_cache" : "compiled",
                  readable_time(seconds));
  dump_.write(loaded.name, *loaded.compiled, how);
  if (!analyzes) return;
  for (const std::string& line :
       compilation_analysis(loaded.name, *miss.graph, miss.explanation, *loaded.compiled))
    log_.debug(1, "{}", line);
  for (const std::string& line : post_compilation_analysis(loaded.name, loaded, how))
    log_.debug(1, "{}", line);
}

std::shared_ptr<LoadedStep> StepCompiler::load_or_compile(Graph step, Making& making) {
  const std::string identity = compile_identity(step, options_);
  const Hash128 key = hash128(identity.data(), identity.size());
  if (auto loaded = load(key, identity, step, making)) return loaded;
  const auto claim = [&] {
    const ScopedSpan span(spans_, SpanKind::kArtifactWait, making.number);
    const ForeignCall waiting(options_.activity, "waiting for another process that compiles");
    return artifacts_.claim(key);
  }();
  // Another rank may have compiled it in the meantime.
  if (auto loaded = load(key, identity, step, making)) return loaded;
  if (making.on_disk.empty()) making.on_disk = known_.explain(making.structure, settings_);
  spans_.metrics().count("PersistentCacheMiss");
  auto loaded = compile(std::move(step), making);
  const ScopedSpan span(spans_, SpanKind::kArtifactSave, making.number);
  try {
    artifacts_.save(key, serialize(*loaded, identity));
    known_.add(making.structure, settings_);
  } catch (const Error& e) {
    artifacts_.warn("{}", e.what());
  }
  return loaded;
}

std::shared_ptr<LoadedStep> StepCompiler::load(const Hash128& key, std::string_view identity,
                                               const Graph& step, Making& making) {
  const std::int64_t begin = spans_.clock().now_ns();
  bool damaged = false;
  const std::optional<std::string> artifact = artifacts_.load(key, &damaged);
  const auto note_damage = [&] {
    making.on_disk.push_back(
        {.cause = Cause::kDamagedEntry,
         .subject = fmt::format("the file {} in device.compile_cache", key.hex()),
         .to = "could not be read"});
  };
  if (damaged) note_damage();
  if (!artifact) return nullptr;
  try {
    auto loaded = deserialize(*artifact, identity, step, options_, kernels_);
    const std::int64_t end = spans_.clock().now_ns();
    spans_.record({.kind = SpanKind::kArtifactLoad,
                   .begin_ns = begin,
                   .end_ns = end,
                   .step = making.number,
                   .args = {static_cast<std::int64_t>(artifact->size())}});
    spans_.metrics().count("PersistentCacheHit");
    log_.debug(2, "loaded at step {} from the compile cache in {}: {} ({} bytes)", making.number,
               readable_ns(static_cast<double>(end - begin)), key.hex(), artifact->size());
    making.from_disk = true;
    making.on_disk.clear();
    return loaded;
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::kUsage) throw;  // a host function is missing; compiling needs it too
    artifacts_.warn("the entry {} cannot be used and is replaced: {}", key.hex(), e.what());
    note_damage();
    return nullptr;
  }
}

std::shared_ptr<LoadedStep> StepCompiler::compile(Graph step, const Making& making) {
  spans_.metrics().count("UncachedCompile");
  const std::int64_t begin = spans_.clock().now_ns();
  auto loaded = load_step(compile_step(std::move(step), options_, kernels_, updates_, log_),
                          options_, kernels_);
  log_.debug(2, "compiled at step {} ({}) in {}: {} gradient and {} update commands", making.number,
             making.reason, readable_ns(static_cast<double>(spans_.clock().now_ns() - begin)),
             count_bundles(loaded->compiled->gradient), count_bundles(loaded->compiled->update));
  return loaded;
}

}  // namespace lockstep
