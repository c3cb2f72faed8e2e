// The state of a process, as the kernel reports it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

enum class ProcessState : std::uint8_t {
  kRunning,   ///< runs, or sleeps until something happens
  kStopped,   ///< by a signal (SIGSTOP, SIGTSTP)
  kTraced,    ///< held by a debugger
  kDiskWait,  ///< waits for a device or a file system, and cannot even be killed
  kGone,      ///< has ended, or is a zombie
  kUnknown,   ///< cannot be seen from here
};

/// "stopped", "held by a debugger", ...: fits behind "is".
std::string_view name_of(ProcessState state);

/// Whether a process in this state cannot run, whatever its threads try.
bool is_halted(ProcessState state);

/// Parses the text of /proc/PID/stat; the process name in it may hold any characters.
ProcessState parse_process_state(std::string_view stat);

/// The state of a process of this machine. kGone if there is none, kUnknown if there is no /proc.
ProcessState process_state(std::int64_t pid);

/// The name of this machine.
std::string host_name();

}  // namespace lockstep
