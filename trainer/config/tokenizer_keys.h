// The keys of the section `tokenizer`.
#pragma once

#include <vector>

#include "trainer/config/fixed_keys.h"

namespace lockstep {

/// `takes_tokens`: models whose data may come from a tokenizer.
std::vector<KeyGroup> tokenizer_keys(const Condition& takes_tokens);

}  // namespace lockstep
