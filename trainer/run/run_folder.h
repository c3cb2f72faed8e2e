// The folder of a run: <path>/config.yaml, checkpoints/, metrics.jsonl, logs/. Rank 0 alone touches
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

/// A symbolic link to a run's folder is that folder: it is what is locked and moved aside.
RunFolder run_folder(const std::string& path);

/// The last run of that name that was moved aside for a new one and has checkpoints, or "".
std::string find_moved_run(const RunFolder& folder);

/// The checkpoint to start from, found and read by rank 0 for all; nothing to start anew. `resume`:
/// "none", "auto" or the path of a checkpoint. Called by all ranks. Error kCheckpoint.
std::optional<SharedCheckpoint> choose_checkpoint(const std::string& resume,
                                                  const RunFolder& folder,
                                                  Communicator& communicator, Activity activity,
                                                  Log& log);

/// A run that goes on from `path`, the state of `step`, that the user named: what its folder has of
/// later steps is set aside (checkpoint/retention.h), or it would be taken for what the run saves
/// from now on. Nothing if `path` is in another folder. For the master, which holds the lock.
void leave_later_states(const RunFolder& folder, const std::string& path, std::int64_t step,
                        Log& log);

/// What becomes of checkpoints that are in the folder of a run that starts.
enum class EarlierRun : std::uint8_t {
  kGoesOn,      ///< one of them was resumed
  kMovesAside,  ///< a new run was asked for
  kIsRefused,   ///< to be resumed, had there been one: somebody else has just made them
};

/// Rank 0 makes the folder, writes `config_text` into it and holds its lock; the others learn
/// whether it worked. Called by all ranks. Error kUsage.
RunLock prepare_folder(const RunFolder& folder, const std::string& config_text, EarlierRun earlier,
                       Communicator& communicator, Activity activity, Log& log);

}  // namespace lockstep
