// Makes the folder of a run that starts, and leaves in it what it may go on with.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/activity.h"
#include "core/base/log.h"
#include "core/runtime/communicator.h"
#include "trainer/run/run_folder.h"
#include "trainer/run/run_lock.h"
#include "trainer/settings/setting_name.h"

namespace lockstep {

/// Action for checkpoints that are already in the folder of a starting run.
enum class EarlierRun : std::uint8_t {
  kGoesOn,      ///< one of them was resumed
  kMovesAside,  ///< a new run was asked for
  kIsRefused,   ///< resume was requested and found none: another job has just made them
};

/// The run that starts.
struct StartingRun {
  RunFolder folder;
  std::string config_text;
  EarlierRun earlier;
  SettingsOf settings_of;  ///< for messages
};

/// Collective. Rank 0 makes the folder, writes the config's text into it and holds its lock. Error
/// kUsage on all ranks if that fails.
RunLock prepare_folder(const StartingRun& run, Communicator& communicator, Activity activity,
                       Log& log);

}  // namespace lockstep
