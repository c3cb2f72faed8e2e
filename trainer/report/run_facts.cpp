#include "trainer/report/run_facts.h"

#include <algorithm>
#include <cctype>
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
  const fs::path path = fs::absolute(folder).lexically_normal();
  return (path.has_filename() ? path.filename() : path.parent_path().filename()).string();
}

std::string without_slashes(std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return folder;
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
  if (fs::symlink_status(file, error).type() == fs::file_type::not_found) return;
  to.config_text = read_text(file, kMaxYamlBytes);
  if (!to.config_text.starts_with(kOfAProgram))
    to.config = load_config(file, registry, {}, true).config;
}

std::optional<SavedFile> newest_checkpoint(RunFacts& facts, const SavedRun& run) {
  FoundCheckpoint found = run.find_newest();
  for (const SkippedCheckpoint& skipped : found.skipped)
    facts.notices.push_back(fmt::format("{}: {}", skipped.path, skipped.reason));
  if (!found.newest) return std::nullopt;
  const TrainerState& state = found.newest->trainer();
  return SavedFile{.path = found.newest->path(),
                   .step = state.step,
                   .hash = state_hash(*found.newest),
                   .dataset_digest = state.dataset_digest};
}

}  // namespace

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "_./:=@%+,-";
  const bool plain = !word.empty() && std::ranges::all_of(word, [&](unsigned char c) {
    return std::isalnum(c) != 0 || kPlain.find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

bool RunFacts::is_of_a_program() const {
  return config_text.starts_with(kOfAProgram);
}

std::string RunFacts::without_ledger() const {
  if (!config || !config->profile.ledger)
    return "train it with profile.ledger=true; the run writes it when it ends";
  if (is_running) return "the run writes it when it ends, and it still trains";
  if (!lives.empty() && lives.back().how != "finished")
    return "a run writes it when it ends well, and its last job did not";
  return "its file is not in profile/, or is damaged";
}

double RunFacts::training_seconds() const {
  double out = 0;
  for (std::size_t i = 1; i < metrics.size(); ++i) {
    // Between two jobs nothing runs.
    const bool is_gap = std::ranges::any_of(lives, [&](const RunLife& life) {
      return life.step > 0 && metrics[i - 1].step <= life.step && life.step < metrics[i].step;
    });
    if (!is_gap) out += std::max(metrics[i].wall_time - metrics[i - 1].wall_time, 0.0);
  }
  return out;
}

double RunFacts::mean_logged_step_ms() const {
  double ms = 0;
  std::int64_t steps = 0, last = 0;
  for (const TelemetryRecord& record : metrics) {
    const std::int64_t count = record.step - last;
    last = record.step;
    const double each = record.step_ms.value_or(NAN);
    if (count <= 0 || !std::isfinite(each)) continue;
    ms += each * static_cast<double>(count);
    steps += count;
  }
  return steps > 0 ? ms / static_cast<double>(steps) : 0;
}

bool RunFacts::is_calibrated() const {
  return !profiles.empty() && profiles[0].limits != default_limits({}).origin();
}

bool RunFacts::knows_limits() const {
  return !profiles.empty() && profiles[0].limits == limits.origin();
}

BusyCores RunFacts::busy_cores() const {
  const std::string host = profiles.empty() ? "" : profiles[0].host;
  const auto ranks = std::ranges::count(profiles, host, &RankProfile::host);
  return {.threads = lives.empty() ? 1 : std::max(1, static_cast<int>(lives.back().threads)),
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
  out.folder = without_slashes(folder);
  out.registry = &registry;
  out.limits = limits;
  out.name = last_part(folder);
  out.is_running = is_locked(folder);
  read_part(out, [&] { read_config(out, registry); });
  read_part(out, [&] { out.lives = run.history(); });
  read_part(out, [&] {
    MetricsRead read = run.good_metrics();
    out.metrics = std::move(read.records);
    if (!read.damage.empty()) out.notices.push_back(std::move(read.damage));
  });
  read_part(out, [&] { out.profiles = run.profiles(); });
  read_part(out, [&] { out.compilations = run.compilations(0); });
  read_part(out, [&] { out.compilation_events = run.compilation_events(0); });
  read_part(out, [&] { out.cuts = run.cuts(); });
  read_part(out, [&] { out.program = run.program(); });
  read_part(out, [&] { out.suspects = list_suspects(checkpoint_folder_of(folder)); });
  read_part(out, [&] { out.saved = newest_checkpoint(out, run); });
  return out;
}

}  // namespace lockstep
