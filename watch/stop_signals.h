// SIGINT, SIGTERM and SIGUSR1 request the process to stop: to save its state, if there is any, and
// to end with code 75. Launchers send them twice, to some ranks or to all, so further ones change
// nothing. Only a second SIGINT at least a second after the first ends the process at once, as
// users expect.
#pragma once

namespace lockstep {

/// Global state of the process, because a signal handler can reach nothing else.
class StopSignals {
 public:
  /// From now on the signals set flags; call it first in main().
  static void install();

  static bool requested();
  /// "SIGTERM": the first signal that came; "" if none did.
  static const char* name();
  /// Whether SIGINT or SIGTERM came from the parent process. If that is mpirun, SIGKILL follows
  /// within two seconds.
  static bool sent_by_parent();

  /// An eventfd that is written to at each signal; -1: none.
  static void set_wake_descriptor(int descriptor);
};

}  // namespace lockstep
