#include "trainer/run/prepare_folder.h"

#include <filesystem>
#include <vector>

#include "checkpoint/commit.h"
#include "checkpoint/folder.h"
#include "core/base/activity.h"
#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "trainer/run/virtual_journal.h"
#include "trainer/statistics/rank_profile.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

/// A new run does not mix with an old one of its name: the old one is moved aside.
void move_old_run(const StartingRun& run, Log& log) {
  const RunFolder& folder = run.folder;
  if (run.earlier == EarlierRun::kGoesOn || list_checkpoints(folder.checkpoints).empty()) return;
  LS_USER_CHECK(run.earlier == EarlierRun::kMovesAside,
                "another training has just written checkpoints to {}, which had none before; start "
                "again to resume from them, or choose another {}",
                folder.path, setting_name(run.settings_of, "run.name"));
  int number = 1;
  while (fs::exists(place_aside(folder, number))) ++number;
  const std::string aside = place_aside(folder, number);
  fs::rename(folder.path, aside);
  log.info("{} holds an earlier run, which was moved to {}; use {} to continue a run", folder.path,
           aside, resume_setting(run.settings_of));
}

/// Removes measurements of an earlier run that left no checkpoint, and so is not moved aside: they
/// would be mistaken for those of the new run. Profiles are removed also for a resumed run, which
/// may have fewer ranks.
void remove_old_measurements(const StartingRun& run) {
  remove_profiles(run.folder.path);
  if (run.earlier == EarlierRun::kGoesOn) return;
  for (const char* name : {"compilations.jsonl", "cuts.json", "trace.perfetto-trace"})
    fs::remove_all(fs::path(run.folder.path) / name);
  // Who asked to go on, and found nothing saved, trains the same run from its start.
  if (run.earlier == EarlierRun::kMovesAside)
    fs::remove(fs::path(run.folder.path) / "history.json");
  // A job that a rehearsed death has ended before its first save begins again, and its time goes
  // on.
  const std::vector<JobEvent> events = read_job_events(run.folder.path);
  if (!events.empty() && events.back().kind != JobEvent::Kind::kDied)
    fs::remove(virtual_journal_path(run.folder.path));
}

RunLock prepare_on_master(const StartingRun& run, Log& log) {
  const RunFolder& folder = run.folder;
  const SettingsOf of = run.settings_of;
  RunLock lock;
  try {
    fs::create_directories(folder.path);
    lock = RunLock(folder.path, of);
    move_old_run(run, log);
    remove_old_measurements(run);
    fs::create_directories(folder.checkpoints);
    write_file((fs::path(folder.path) / "config.yaml").string(), run.config_text,
               ErrorKind::kUsage);
  } catch (const fs::filesystem_error& e) {
    raise(ErrorKind::kUsage, "cannot prepare the run folder {} ({}): {}", folder.path,
          of == SettingsOf::kConfig ? "run.dir, run.name" : setting_name(of, "run.name"),
          e.code().message());
  }
  remove_unfinished_checkpoints(folder.checkpoints, log);
  return lock;
}

}  // namespace

RunLock prepare_folder(const StartingRun& run, Communicator& communicator, Activity activity,
                       Log& log) {
  RunLock lock;
  std::string problem;
  if (communicator.is_master_ordinal()) {
    const ForeignCall call(activity, "preparing the run folder");
    try {
      lock = prepare_on_master(run, log);
    } catch (const Error& e) {
      problem = e.what();
    }
  }
  problem = communicator.exchange("run folder", problem)[0];
  if (!problem.empty()) raise(ErrorKind::kUsage, "{}", problem);
  return lock;
}

}  // namespace lockstep
