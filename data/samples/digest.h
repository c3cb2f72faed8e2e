// SHA-256 as lower-case hexadecimal, which identifies data.
#pragma once

#include <string>
#include <string_view>

#include "core/base/hash.h"

namespace lockstep {

std::string sha256_hex(std::string_view bytes);

/// Finishes `hash`.
std::string finish_hex(Sha256& hash);

/// Whether `saved`, the digest stored with a run, matches the digest of its data `now`. A digest of
/// an earlier version, which did not cover the bytes of images, is the beginning of today's.
bool is_same_data(const std::string& saved, const std::string& now);

}  // namespace lockstep
