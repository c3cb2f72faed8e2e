// JSON that comes from anywhere, checked before a tree is made of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace lockstep {

/// The text of a file. Error `kind` if it cannot be read or has more than `max_bytes`.
std::string read_json_text(const std::string& path, std::uint64_t max_bytes, ErrorKind kind);

/// Error `kind` "PATH: problem" unless `text` is one JSON object, nested at most `max_depth` deep,
/// in which no object has a key twice.
void check_json(std::string_view text, const std::string& path, int max_depth, ErrorKind kind);

}  // namespace lockstep
