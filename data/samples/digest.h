// SHA-256 as lower-case hexadecimal, which tells data from other data.
#pragma once

#include <string>
#include <string_view>

#include "core/base/hash.h"

namespace lockstep {

std::string sha256_hex(std::string_view bytes);

/// Finishes `hash`.
std::string finish_hex(Sha256& hash);

/// Whether a dataset's digest that was saved with a run is that of the data it has `now`. One of an
/// earlier version, which left the bytes of images out, is the beginning of today's.
bool is_same_data(const std::string& saved, const std::string& now);

}  // namespace lockstep
