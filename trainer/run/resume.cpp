#include "trainer/run/resume.h"

#include <filesystem>
#include <utility>

#include "checkpoint/folder.h"
#include "checkpoint/restore.h"
#include "checkpoint/retention.h"
#include "core/base/activity.h"
#include "core/base/error.h"
#include "trainer/run/saved_run.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

/// Logs other states from which the user may want to resume.
void tell_others(const RunFolder& folder, const CheckpointReader& newest, Log& log, SettingsOf of) {
  const TrainerState& trainer = newest.trainer();
  const std::string good = (fs::path(folder.checkpoints) / checkpoint_file_name(trainer.good_step));
  std::error_code error;
  if (trainer.confirmation == Confirmation::kDoubtful && fs::exists(good, error))
    log.warn(
        "the state of step {} is in doubt: training may not continue well from it; the newest "
        "state that is known to be good is that of {}",
        trainer.step, resume_setting(of, good));
  for (const CheckpointFile& suspect : list_suspects(folder.checkpoints))
    if (suspect.step > trainer.step)
      log.info("ignored {}, which was set aside; {} continues from it", suspect.path,
               resume_setting(of, suspect.path));
}

std::optional<CheckpointReader> find_own(const RunFolder& folder, Log& log, SettingsOf of) {
  FoundCheckpoint found = SavedRun(folder.checkpoints).find_newest();
  // A user who has checkpoints and requests a resume does not want a new run.
  if (!found.newest && !found.skipped.empty())
    raise(ErrorKind::kCheckpoint, "{}",
          describe_skipped(folder.checkpoints, found.skipped,
                           fmt::format(" (to start a new run, {})",
                                       of == SettingsOf::kConfig
                                           ? "leave out --resume or set checkpoint.resume=none"
                                           : "set " + resume_setting(of, "none"))));
  for (const SkippedCheckpoint& skipped : found.skipped)
    log.warn("skipped {}: {}", skipped.path, skipped.reason);
  if (found.newest) tell_others(folder, *found.newest, log, of);
  return std::move(found.newest);
}

}  // namespace

std::optional<SharedCheckpoint> find_start(const std::string& from, const RunFolder& folder,
                                           Communicator& communicator, Activity activity, Log& log,
                                           SettingsOf of) {
  if (from == "none") return std::nullopt;
  if (from != "auto") return SavedRun(from).share_checkpoint(communicator, activity);
  return SharedCheckpoint::open(communicator, [&] {
    const ForeignCall call(activity, "reading the checkpoints");
    return find_own(folder, log, of);
  });
}

void leave_later_states(const RunFolder& folder, const std::string& path, std::int64_t step,
                        Log& log) {
  std::error_code error;
  if (!fs::equivalent(fs::absolute(path).parent_path(), folder.checkpoints, error)) return;
  for (const std::string& aside : set_aside_after(folder.checkpoints, step, log))
    log.info("the run goes back to step {}: set aside {}", step, aside);
}

}  // namespace lockstep
