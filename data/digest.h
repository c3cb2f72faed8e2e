// SHA-256 of a few bytes, as lower-case hexadecimal.
#pragma once

#include <string>
#include <string_view>

#include "core/base/hash.h"

namespace lockstep {

std::string sha256_hex(std::string_view bytes);

/// Finishes `hash`.
std::string finish_hex(Sha256& hash);

}  // namespace lockstep
