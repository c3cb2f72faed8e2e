#include "trainer/run/saved_run.h"

#include <cstdio>
#include <filesystem>

#include "checkpoint/folder.h"
#include "core/base/error.h"
#include "trainer/config/load.h"
#include "trainer/telemetry/cuts_file.h"
#include "trainer/telemetry/metrics_file.h"

namespace lockstep {

namespace fs = std::filesystem;

bool SavedRun::is_folder() const {
  std::error_code error;
  return fs::is_directory(path_, error);
}

Config SavedRun::config_file(const Registry& registry) const {
  const fs::path file = fs::path(path_) / "config.yaml";
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return {};
  try {
    return load_config(file.string(), registry, {}, true).config;
  } catch (const Error&) {
    return {};
  }
}

CheckpointReader SavedRun::open_checkpoint(SavedState which) const {
  const auto warn = [](const SkippedCheckpoint& skipped) {
    fmt::print(stderr, "lockstep: warning: skipped {}: {}\n", skipped.path, skipped.reason);
  };
  switch (which) {
    case SavedState::kNewest: return lockstep::open_checkpoint(path_, warn);
    case SavedState::kBest: return open_best_checkpoint(path_, warn);
  }
  __builtin_unreachable();
}

FoundCheckpoint SavedRun::find_newest() const {
  return lockstep::find_newest(checkpoint_folder_of(path_));
}

SharedCheckpoint SavedRun::share_checkpoint(Communicator& communicator, Activity activity,
                                            SavedState which) const {
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): what is read is there
  return SharedCheckpoint::open(communicator,
                                [&] {
                                  const ForeignCall call(activity, "reading the checkpoints");
                                  return std::optional(open_checkpoint(which));
                                })
      .value();
}

void SavedRun::require_folder() const {
  std::error_code error;
  LS_USER_CHECK(fs::exists(path_, error), "{}: {}", path_,
                error ? error.message() : "there is no such run");
  LS_USER_CHECK(is_folder(), "{} is a file: RUN is the folder of a run", path_);
  const auto holds = [&](const char* name) {
    return fs::symlink_status(fs::path(path_) / name, error).type() != fs::file_type::not_found;
  };
  LS_USER_CHECK(holds("config.yaml") || holds("logs"),
                "{} is not a run's folder: it has neither config.yaml nor logs", path_);
}

std::vector<TelemetryRecord> SavedRun::metrics() const {
  require_folder();
  return read_metrics((fs::path(path_) / "metrics.jsonl").string());
}

MetricsRead SavedRun::good_metrics() const {
  require_folder();
  return read_good_metrics((fs::path(path_) / "metrics.jsonl").string());
}

std::vector<RankProfile> SavedRun::profiles() const {
  require_folder();
  return read_profiles(path_);
}

std::optional<ProgramRecord> SavedRun::program() const {
  require_folder();
  return read_program_record(path_);
}

CauseTally SavedRun::compilations(int rank) const {
  require_folder();
  return read_compilations(path_, rank);
}

std::vector<CompilationEvent> SavedRun::compilation_events(int rank) const {
  require_folder();
  return read_compilation_events(path_, rank);
}

std::vector<Cuts::Row> SavedRun::cuts() const {
  require_folder();
  return read_cuts((fs::path(path_) / "cuts.json").string());
}

std::vector<RunLife> SavedRun::history() const {
  require_folder();
  return read_run_history(path_);
}

std::string SavedRun::trace_file() const {
  if (!is_folder()) return path_;
  std::string out = (fs::path(path_) / "trace.perfetto-trace").string();
  LS_USER_CHECK(fs::exists(out), "{} has no trace: train it with profile.trace.steps=[FIRST,LAST]",
                path_);
  return out;
}

}  // namespace lockstep
