#include "trainer/report/run_facts.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

#include "checkpoint/state_hash.h"
#include "core/base/error.h"
#include "core/explain/cause.h"
#include "data/files/read_text.h"
#include "trainer/config/load.h"
#include "trainer/config/yaml_tree.h"
#include "trainer/run/run_lock.h"
#include "trainer/run/saved_run.h"
#include "trainer/run/saved_texts.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

/// The end of a path, without slashes after it.
std::string last_part(const std::string& folder) {
  const fs::path path = fs::path(folder).lexically_normal();
  return (path.has_filename() ? path.filename() : path.parent_path().filename()).string();
}

/// Reads one part of the facts. What is damaged leaves a notice.
void read_part(RunFacts& to, const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& e) {
    to.notices.emplace_back(e.what());
  } catch (const fs::filesystem_error& e) {
    to.notices.emplace_back(e.what());
  }
}

void read_config(RunFacts& to, const Registry& registry) {
  const std::string file = to.file("config.yaml");
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return;
  to.config_text = read_text(file, kMaxYamlBytes);
  if (!to.config_text.starts_with(kOfAProgram))
    to.config = load_config(file, registry, {}, true).config;
}

std::optional<SavedFile> newest_checkpoint(RunFacts& facts, const SavedRun& run) {
  FoundCheckpoint found = run.find_newest();
  for (const SkippedCheckpoint& skipped : found.skipped) facts.notices.push_back(skipped.reason);
  if (!found.newest) return std::nullopt;
  const TrainerState& state = found.newest->trainer();
  return SavedFile{.path = found.newest->path(),
                   .step = state.step,
                   .hash = state_hash(*found.newest),
                   .dataset_digest = state.dataset_digest};
}

}  // namespace

bool RunFacts::knows_limits() const {
  return !profiles.empty() && profiles[0].limits == limits.origin();
}

BusyCores RunFacts::busy_cores() const {
  const std::string host = profiles.empty() ? "" : profiles[0].host;
  const auto ranks = std::ranges::count(profiles, host, &RankProfile::host);
  return {.threads = config ? static_cast<int>(config->device.threads) : 1,
          .ranks = std::max(static_cast<int>(ranks), 1)};
}

std::int64_t RunFacts::samples_per_step() const {
  return config ? config->batch.global_batch_size : 0;
}

std::int64_t RunFacts::tokens_per_step() const {
  for (const TelemetryRecord& record : metrics)
    if (record.tokens_per_s && record.updates_per_s && *record.updates_per_s > 0)
      return std::llround(*record.tokens_per_s / *record.updates_per_s);
  return 0;
}

bool is_recompilation(const CompilationEvent& event) {
  const auto cause = parse_cause(event.cause);
  return cause && !is_expected(*cause, event.remedy);
}

RunFacts read_run_facts(const std::string& folder, const MachineLimits& limits,
                        const Registry& registry) {
  const SavedRun run(folder);
  run.require_folder();
  RunFacts out;
  out.folder = folder;
  out.registry = &registry;
  out.limits = limits;
  out.name = last_part(folder);
  out.is_running = is_locked(folder);
  read_part(out, [&] { read_config(out, registry); });
  read_part(out, [&] { out.lives = run.history(); });
  read_part(out, [&] { out.metrics = run.metrics(); });
  read_part(out, [&] { out.profiles = run.profiles(); });
  read_part(out, [&] { out.compilations = run.compilations(0); });
  read_part(out, [&] { out.compilation_events = run.compilation_events(0); });
  read_part(out, [&] { out.cuts = run.cuts(); });
  read_part(out, [&] { out.program = run.program(); });
  read_part(out, [&] { out.saved = newest_checkpoint(out, run); });
  return out;
}

}  // namespace lockstep
