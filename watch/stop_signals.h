// SIGINT, SIGTERM and SIGUSR1 ask the process to stop: save what there is to save, and end with
// code 75. Launchers send them twice, to some ranks or to all: further ones change nothing. Only a
// second SIGINT at least a second after the first ends the process at once, as people expect.
#pragma once

namespace lockstep {

/// State of the process, as signal handlers can reach nothing else.
class StopSignals {
 public:
  /// From now on the signals set flags; to be called first thing in main().
  static void install();

  static bool requested();
  /// "SIGTERM": the first signal that came; "" if none did.
  static const char* name();
  /// SIGINT or SIGTERM came from the parent process. If that is mpirun, SIGKILL follows within two
  /// seconds.
  static bool sent_by_parent();

  /// An eventfd that is written to at each signal; -1: none.
  static void set_wake_descriptor(int descriptor);
};

}  // namespace lockstep
