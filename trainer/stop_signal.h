// SIGUSR1 and SIGTERM ask for a checkpoint at the next step boundary and the end of the run.
#pragma once

namespace lockstep {

/// While alive, the two signals set a flag instead of ending the process. One at a time.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool requested() const;
};

}  // namespace lockstep
