// What bench/simulated_collectives runs: each collective as a rank calls it, and what it should
// send and take by a formula.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/simulated_ranks/fair_share_network.h"
#include "collectives/group.h"

namespace lockstep {

/// Of all ranks together.
struct ExpectedTraffic {
  std::int64_t bytes = 0;
  std::int64_t messages = 0;
  double ns = 0;
};

struct CollectiveCase {
  std::string name;
  std::int64_t bytes = 0;  ///< of a rank's buffer, value or string
  bool data = false;       ///< whether messages must carry data: strings tell their lengths
  std::function<void(const Group&)> run;
  ExpectedTraffic expected;
};

/// all_reduce, all_reduce_2, ring, tree_combine, broadcast, gather_strings. all_reduce_2 is that of
/// nodes that have two partial sums each (collectives/node_sum.h).
const std::vector<std::string>& collective_names();

/// The case of this name for a number of ranks that is a power of two, at least 2, and a buffer of
/// `bytes` (tree_combine and gather_strings have values and strings of their own length). Where
/// messages carry no data, all ranks share one buffer. The formulas hold for slices that are equal.
/// Error kUsage for another name.
CollectiveCase collective_case(const std::string& name, int ranks, std::int64_t bytes,
                               const LinkLimits& links);

/// Sums real data of `count` f32 elements over the ranks by all_reduce. Whether every rank has the
/// sums of the serial tree over ranks, in every bit.
bool sums_are_those_of_the_tree(int ranks, std::int64_t count, const LinkLimits& links);

}  // namespace lockstep
