#include "trainer/run/run_folder.h"

#include <filesystem>

#include "checkpoint/commit.h"
#include "checkpoint/folder.h"
#include "checkpoint/restore.h"
#include "checkpoint/retention.h"
#include "core/base/activity.h"
#include "core/base/atomic_file.h"
#include "core/base/error.h"
#include "trainer/statistics/rank_profile.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

/// The folder to which the run that is replaced as number `number` is moved.
std::string place_aside(const RunFolder& folder, int number) {
  return fmt::format("{}.{}", folder.path, number);
}

/// A new run does not mix with an old one of its name: the old one is moved aside.
void move_old_run(const RunFolder& folder, EarlierRun earlier, Log& log) {
  if (earlier == EarlierRun::kGoesOn || list_checkpoints(folder.checkpoints).empty()) return;
  LS_USER_CHECK(earlier == EarlierRun::kMovesAside,
                "another training has just written checkpoints to {}, which had none before; start "
                "again to resume from them, or choose another run.name",
                folder.path);
  int number = 1;
  while (fs::exists(place_aside(folder, number))) ++number;
  const std::string aside = place_aside(folder, number);
  fs::rename(folder.path, aside);
  log.info("{} holds an earlier run, which was moved to {}; use --resume to continue a run",
           folder.path, aside);
}

/// Removes measurements of an earlier run that left no checkpoint, and so is not moved aside: they
/// would be mistaken for those of the new run. Profiles are removed also for a resumed run, which
/// may have fewer ranks.
void remove_old_measurements(const RunFolder& folder, EarlierRun earlier) {
  remove_profiles(folder.path);
  if (earlier == EarlierRun::kGoesOn) return;
  for (const char* name : {"compilations.jsonl", "cuts.json", "trace.perfetto-trace"})
    fs::remove_all(fs::path(folder.path) / name);
}

/// Logs other states from which the user may want to resume.
void tell_others(const RunFolder& folder, const CheckpointReader& newest, Log& log) {
  const TrainerState& trainer = newest.trainer();
  const std::string good = (fs::path(folder.checkpoints) / checkpoint_file_name(trainer.good_step));
  std::error_code error;
  if (trainer.confirmation == Confirmation::kDoubtful && fs::exists(good, error))
    log.warn(
        "the state of step {} is in doubt: training may not continue well from it; the newest "
        "state that is known to be good is that of --resume={}",
        trainer.step, good);
  for (const CheckpointFile& suspect : list_suspects(folder.checkpoints))
    if (suspect.step > trainer.step)
      log.info("ignored {}, which was set aside; --resume={} continues from it", suspect.path,
               suspect.path);
}

RunLock prepare_on_master(const RunFolder& folder, const std::string& config_text,
                          EarlierRun earlier, Log& log) {
  RunLock lock;
  try {
    fs::create_directories(folder.path);
    lock = RunLock(folder.path);
    move_old_run(folder, earlier, log);
    remove_old_measurements(folder, earlier);
    fs::create_directories(folder.checkpoints);
    write_file((fs::path(folder.path) / "config.yaml").string(), config_text, ErrorKind::kUsage);
  } catch (const fs::filesystem_error& e) {
    raise(ErrorKind::kUsage, "cannot prepare the run folder {} (run.dir, run.name): {}",
          folder.path, e.code().message());
  }
  remove_unfinished_checkpoints(folder.checkpoints, log);
  return lock;
}

}  // namespace

RunFolder run_folder(const std::string& at) {
  fs::path path(at);
  std::error_code error;
  if (fs::is_symlink(path, error)) {
    const fs::path target = fs::canonical(path, error);
    if (!error) path = target;
  }
  return {path.string(), (path / "checkpoints").string()};
}

std::string find_moved_run(const RunFolder& folder) {
  std::string out;
  std::error_code error;
  for (int number = 1; fs::exists(place_aside(folder, number), error); ++number)
    if (const RunFolder moved = run_folder(place_aside(folder, number));
        !list_checkpoints(moved.checkpoints).empty())
      out = moved.path;
  return out;
}

std::optional<SharedCheckpoint> choose_checkpoint(const std::string& resume,
                                                  const RunFolder& folder,
                                                  Communicator& communicator, Activity activity,
                                                  Log& log) {
  return SharedCheckpoint::open(communicator, [&]() -> std::optional<CheckpointReader> {
    const ForeignCall call(activity, "reading the checkpoints");
    if (resume == "none") return std::nullopt;
    if (resume != "auto") return open_checkpoint(resume);
    FoundCheckpoint found = find_newest(folder.checkpoints);
    // A user who has checkpoints and requests a resume does not want a new run.
    if (!found.newest && !found.skipped.empty())
      raise(ErrorKind::kCheckpoint, "{}",
            describe_skipped(
                folder.checkpoints, found.skipped,
                " (to start a new run, leave out --resume or set checkpoint.resume=none)"));
    for (const SkippedCheckpoint& skipped : found.skipped)
      log.warn("skipped {}: {}", skipped.path, skipped.reason);
    if (found.newest) tell_others(folder, *found.newest, log);
    return std::move(found.newest);
  });
}

void leave_later_states(const RunFolder& folder, const std::string& path, std::int64_t step,
                        Log& log) {
  std::error_code error;
  if (!fs::equivalent(fs::absolute(path).parent_path(), folder.checkpoints, error)) return;
  for (const std::string& aside : set_aside_after(folder.checkpoints, step, log))
    log.info("the run goes back to step {}: set aside {}", step, aside);
}

RunLock prepare_folder(const RunFolder& folder, const std::string& config_text, EarlierRun earlier,
                       Communicator& communicator, Activity activity, Log& log) {
  RunLock lock;
  std::string problem;
  if (communicator.is_master_ordinal()) {
    const ForeignCall call(activity, "preparing the run folder");
    try {
      lock = prepare_on_master(folder, config_text, earlier, log);
    } catch (const Error& e) {
      problem = e.what();
    }
  }
  problem = communicator.exchange("run folder", problem)[0];
  if (!problem.empty()) raise(ErrorKind::kUsage, "{}", problem);
  return lock;
}

}  // namespace lockstep
