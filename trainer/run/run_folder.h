// The folder of a run: <path>/config.yaml, checkpoints/, metrics.jsonl, logs/. Only rank 0 accesses
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/log.h"
#include "core/runtime/communicator.h"
#include "trainer/run/run_lock.h"
#include "trainer/run/shared_checkpoint.h"

namespace lockstep {

struct RunFolder {
  std::string path;
  std::string checkpoints;
};

/// A symbolic link is resolved: the folder that it points to is locked and moved aside.
RunFolder run_folder(const std::string& path);

/// The last run of that name that was moved aside for a new run and has checkpoints, or "".
std::string find_moved_run(const RunFolder& folder);

/// The checkpoint to start from, found and read by rank 0 for all ranks; nothing for a new run.
/// `resume`: "none", "auto" or the path of a checkpoint. Called by all ranks. Error kCheckpoint.
std::optional<SharedCheckpoint> choose_checkpoint(const std::string& resume,
                                                  const RunFolder& folder,
                                                  Communicator& communicator, Activity activity,
                                                  Log& log);

/// For a run that resumes from `path`, the state of `step`, named by the user: sets the checkpoints
/// of later steps in its folder aside (checkpoint/retention.h), since they would be mistaken for
/// saves of the resumed run. Does nothing if `path` is in another folder. Called by the master,
/// which holds the lock.
void leave_later_states(const RunFolder& folder, const std::string& path, std::int64_t step,
                        Log& log);

/// Action for checkpoints that are already in the folder of a starting run.
enum class EarlierRun : std::uint8_t {
  kGoesOn,      ///< one of them was resumed
  kMovesAside,  ///< a new run was asked for
  kIsRefused,   ///< resume was requested and found none: another job has just made them
};

/// Collective. Rank 0 makes the folder, writes `config_text` into it and holds its lock. Error
/// kUsage on all ranks if that fails.
RunLock prepare_folder(const RunFolder& folder, const std::string& config_text, EarlierRun earlier,
                       Communicator& communicator, Activity activity, Log& log);

}  // namespace lockstep
