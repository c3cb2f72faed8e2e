// The entries of device.simulate: "rank=3 slow=1.4 steps=100:200", "link=0,1 bandwidth=0.5",
// "rank=2 dies_at_step=50", "detection_s=30 restart_s=60", "jitter=0.03".
#pragma once

#include <span>
#include <string>

#include "core/virtual_time/disturbances.h"

namespace lockstep {

/// The devices of a job: ranks in order, device after device and node after node.
struct SimulatedDevices {
  int ranks = 1;
  int on_node = 1;    ///< ranks
  int on_device = 1;  ///< ranks
};

/// Error kUsage naming the entry: words that are not known, twice or missing, a rank that the job
/// does not have, factors out of range, entries that contradict one another.
Disturbances parse_disturbances(std::span<const std::string> entries, std::uint64_t seed,
                                const SimulatedDevices& devices);

}  // namespace lockstep
