// The entries of device.simulate: "rank=3 slow=1.4 steps=100:200", "jitter=0.03".
#pragma once

#include <span>
#include <string>

#include "core/virtual_time/disturbances.h"

namespace lockstep {

/// Error kUsage naming the entry: words that are not known, twice or missing, a rank that the job
/// does not have, factors that are not positive.
Disturbances parse_disturbances(std::span<const std::string> entries, std::uint64_t seed,
                                int ranks);

}  // namespace lockstep
