// The keys for padding, ordering and masking samples: a part of fixed_keys.h.
#pragma once

#include <vector>

#include "trainer/config/fixed_keys.h"

namespace lockstep {

std::vector<KeyGroup> length_keys(const Condition& varies);
std::vector<KeyGroup> masking_keys(const Condition& masks);

}  // namespace lockstep
