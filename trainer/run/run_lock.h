// Allows one training at a time in a run's folder: two would move each other's files aside and mix
// their checkpoints.
#pragma once

#include <string>

#include "trainer/settings/setting_name.h"

namespace lockstep {

/// An advisory lock for writing (F_OFD_SETLK) on the file <run.dir>/.<run.name>.lock, held until
/// destruction or the end of the process, however it ends. The file is beside the run's folder,
/// since a folder may be moved aside, and is never removed. The resolved path of the folder is
/// used, without symbolic links. Who only reads the file, or locks it as a reader or with flock(2),
/// keeps no training out.
class RunLock {
 public:
  RunLock() = default;  ///< holds nothing

  /// Waits a few seconds for the remaining processes of a killed job to end. Error kUsage if the
  /// lock is still held then or its file cannot be opened. `run_folder` must exist. `of`: for
  /// messages.
  RunLock(const std::string& run_folder, SettingsOf of);
  ~RunLock();

  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&& other) noexcept;
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  int fd_ = -1;
};

/// Whether a process holds the lock of this folder now. A folder without a lock's file is free.
bool is_locked(const std::string& run_folder);

/// "process 4711 (lockstep train a.yaml)" for the holder of that lock, as far as this user may see:
/// else "a process of another user or host".
std::string describe_lock_holder(const std::string& run_folder);

}  // namespace lockstep
