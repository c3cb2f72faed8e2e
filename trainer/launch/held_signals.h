// The signals that ask a process to end, for one that starts others and passes them on.
#pragma once

#include <signal.h>

namespace lockstep {

/// Blocks SIGTERM, SIGINT, SIGUSR1 and SIGCHLD in this thread while it exists; take() reads them.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();  ///< signals that came and were not taken are forgotten
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  /// The next signal that came; 0 if none does for a tenth of a second.
  int take() const;

 private:
  sigset_t held_;
  sigset_t before_;
};

}  // namespace lockstep
