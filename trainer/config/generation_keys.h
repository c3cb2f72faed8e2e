// The keys of the `sample` section: how generation draws or searches tokens.
#pragma once

#include "trainer/config/fixed_keys.h"

namespace lockstep {

std::vector<KeyGroup> generation_keys(const Condition& generates_text);

}  // namespace lockstep
