// The keys of the sections `training`, `optimizer` and `scheduler`, whose structs are in
// trainer/settings/training_config.h.
#pragma once

#include <vector>

#include "trainer/config/fixed_keys.h"

namespace lockstep {

/// The selector of the optimizer has no names yet.
std::vector<KeyGroup> training_keys();

}  // namespace lockstep
