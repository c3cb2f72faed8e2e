// A text that a step of a tokenizer makes longer, again and again, may grow without bound.
#pragma once

#include <cstddef>
#include <string>

#include "core/base/json_place.h"

namespace lockstep {

/// What a step puts in. Error kData if it is longer than 1,024 bytes.
std::string inserted_text(const JsonPlace& json);

/// Error kData if a text of `before` bytes has become one of more than 64 times that, and 1 MB.
void check_growth(std::size_t before, std::size_t after);

}  // namespace lockstep
