// How a run goes on from a checkpoint, of its own or of another run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/log.h"
#include "core/runtime/communicator.h"
#include "trainer/run/run_folder.h"
#include "trainer/run/shared_checkpoint.h"
#include "trainer/settings/setting_name.h"

namespace lockstep {

/// The checkpoint to start from, found and read by rank 0 for all ranks; nothing for a new run.
/// `from`: "none", "auto" (the newest in the folder that verifies, if there is one) or the path of
/// a checkpoint. Called by all ranks. `of`: for messages. Error kCheckpoint.
std::optional<SharedCheckpoint> find_start(const std::string& from, const RunFolder& folder,
                                           Communicator& communicator, Activity activity, Log& log,
                                           SettingsOf of);

/// For a run that resumes from `path`, the state of `step`, named by the user: sets the checkpoints
/// of later steps in its folder aside (checkpoint/retention.h), since they would be mistaken for
/// saves of the resumed run. Does nothing if `path` is in another folder. Called by the master,
/// which holds the lock.
void leave_later_states(const RunFolder& folder, const std::string& path, std::int64_t step,
                        Log& log);

}  // namespace lockstep
