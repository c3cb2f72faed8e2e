// How long a rank may make no progress.
#pragma once

namespace lockstep {

/// In seconds, from the last sign of progress. Keys of the config's section `distributed`.
struct WatchLimits {
  double warn_s = 30;             ///< stall_warn_s
  double abort_s = 300;           ///< stall_abort_s
  double foreign_abort_s = 1800;  ///< foreign_call_abort_s
  friend bool operator==(const WatchLimits&, const WatchLimits&) = default;
};

}  // namespace lockstep
