// All that a report says comes from here: what a run left in its folder, read once. A file that is
// missing leaves its part empty; one that is damaged does so, too, with a notice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/folder.h"
#include "core/explain/tally.h"
#include "core/ir/machine_limits.h"
#include "core/observe/cuts.h"
#include "trainer/run/run_history.h"
#include "trainer/settings/config.h"
#include "trainer/statistics/program_record.h"
#include "trainer/statistics/rank_profile.h"
#include "trainer/telemetry/compilations_file.h"
#include "trainer/telemetry/record.h"

namespace lockstep {

class Registry;

/// The newest checkpoint of a run that can be used.
struct SavedFile {
  std::string path;
  std::int64_t step = 0;
  std::string hash;  ///< of the state, see checkpoint/state_hash.h
  std::string dataset_digest;
};

struct RunFacts {
  std::string folder = {};                ///< as the user named it
  std::string name = {};                  ///< the folder's last part
  std::vector<std::string> notices = {};  ///< what could not be read, and why
  std::string config_text = {};           ///< of config.yaml, or of a program
  std::optional<Config> config = {};      ///< nothing for a program's run
  std::vector<RunLife> lives = {};        ///< of jobs, in order
  bool is_running = false;                ///< a process holds the folder's lock
  std::vector<TelemetryRecord> metrics = {};
  std::vector<RankProfile> profiles = {};
  CauseTally compilations = {};                           ///< of rank 0
  std::vector<CompilationEvent> compilation_events = {};  ///< of rank 0
  std::vector<Cuts::Row> cuts = {};
  std::optional<ProgramRecord> program = {};  ///< of rank 0
  std::optional<SavedFile> saved = {};
  std::vector<CheckpointFile> suspects = {};  ///< checkpoints that no resume takes by itself
  const Registry* registry = nullptr;
  MachineLimits limits = {};  ///< of the machine that makes the report

  /// Whether it is of a program on the library, which has no config.
  bool is_of_a_program() const;
  /// What would fill a section that needs profile.ledger, as this run has nothing for it.
  std::string without_ledger() const;
  /// From the first record to the last, without the time between two jobs.
  double training_seconds() const;
  /// Of all logged steps, without evaluations and saves; 0 if there are none.
  double mean_logged_step_ms() const;
  /// "runs/a/metrics.jsonl"
  std::string file(const std::string& of_folder) const { return folder + "/" + of_folder; }
  /// Whether the ledger compares its times with measured limits, of whatever machine.
  bool is_calibrated() const;
  /// Whether the ledger compares its times with `limits`: the run's machine is this one.
  bool knows_limits() const;
  /// The cores at work on a node, as the ledger counts them.
  BusyCores busy_cores() const;
  /// Samples of a global batch; 0 if it is not known.
  std::int64_t samples_per_step() const;
  /// Tokens of a global batch; 0 if samples have none.
  std::int64_t tokens_per_step() const;
};

/// A word as a shell takes it, in quotes if it needs them.
std::string shell_word(const std::string& word);

/// Error kUsage if `folder` is not the folder of a run.
RunFacts read_run_facts(const std::string& folder, const MachineLimits& limits,
                        const Registry& registry);

/// "loaded" from the disk, or "compiled".
inline const char* word_of(const CompilationEvent& event) {
  return event.loaded ? "loaded" : "compiled";
}

/// Whether a run without faults has no such event: not the first program of its kind, of a build or
/// a length.
bool is_recompilation(const CompilationEvent& event);

}  // namespace lockstep
