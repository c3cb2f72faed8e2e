// Limits on text growth: a step of a tokenizer that lengthens a text repeatedly could grow without
// bound.
#pragma once

#include <cstddef>
#include <string>

#include "core/base/json_place.h"

namespace lockstep {

/// A text that a step inserts. Error kData if it is longer than 1,024 bytes.
std::string inserted_text(const JsonPlace& json);

/// Error kData if a text of `before` bytes grew to more than 64 times that, and to more than 1 MB.
void check_growth(std::size_t before, std::size_t after);

}  // namespace lockstep
