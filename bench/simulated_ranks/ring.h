// The all_reduce that most libraries use between many nodes, to compare with: Patarasuk and Yuan,
// "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009. lockstep itself has
// no use for it: the order of its sum differs between slices.
#pragma once

#include <cstdint>

#include "collectives/algorithms.h"

namespace lockstep {

/// data[count] becomes the sum over members, in place. In n - 1 steps each member sends a slice
/// (slices.h) to the next one, which adds its own; in n - 1 more the sums go around. Sends
/// 2 N (n - 1) / n bytes for N bytes and n members, in 2 (n - 1) messages.
void ring_all_reduce(const Group& group, DType dtype, std::byte* data, std::int64_t count,
                     Scratch& scratch);

}  // namespace lockstep
