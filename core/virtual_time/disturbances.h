// What makes the devices of a job unequal, to rehearse it: ranks and links that are slower for a
// while, jitter of all, deaths. Counter-based, so that every step can be had again from the seed.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/virtual_time/step_durations.h"

namespace lockstep {

/// Both included.
struct StepRange {
  std::int64_t first = 0;
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
  bool contains(std::int64_t step) const { return first <= step && step <= last; }
  bool overlaps(const StepRange& other) const { return first <= other.last && other.first <= last; }
  friend bool operator==(const StepRange&, const StepRange&) = default;
};

/// The commands of this rank take `slow` times as long in these steps.
struct SlowRank {
  int rank = 0;
  double slow = 1;
  StepRange steps = {};
  friend bool operator==(const SlowRank&, const SlowRank&) = default;
};

/// The link between two ranks has so much of its bandwidth in these steps. A ring is as slow as its
/// slowest link: so are all rings over links of a node, or between nodes.
struct SlowLink {
  int a = 0, b = 0;
  bool between_nodes = false;
  double bandwidth = 1;  ///< above 0, up to 1
  StepRange steps = {};
  friend bool operator==(const SlowLink&, const SlowLink&) = default;
};

/// The rank dies when this step would begin.
struct Death {
  int rank = 0;
  std::int64_t step = 0;
  friend bool operator==(const Death&, const Death&) = default;
};

struct Disturbances {
  std::vector<SlowRank> slow_ranks = {};
  std::vector<SlowLink> slow_links = {};
  std::vector<Death> deaths = {};
  double detection_s = 0;  ///< from a death to its detection ...
  double restart_s = 0;    ///< ... and from that to training on
  /// The commands of a rank take exp(jitter x) times as long in a step, x drawn from a standard
  /// normal distribution for each rank and step.
  double jitter = 0;
  std::uint64_t seed = 0;

  /// Whether a step takes as long as without them.
  bool change_no_step() const { return slow_ranks.empty() && slow_links.empty() && jitter == 0; }
};

/// By what the commands of a rank take longer in a step.
double slowdown(const Disturbances& disturbances, int rank, std::int64_t step);

/// A step of a rank: its commands, and the all-reduces of all.
StepDurations disturbed(const StepDurations& step, const Disturbances& disturbances, int rank,
                        std::int64_t number);

/// The step with commands that take `factor` times as long; all-reduces take as long as before.
StepDurations slowed(const StepDurations& step, double factor);

}  // namespace lockstep
