// A whole text file in memory.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

/// The file's bytes. Error kData naming the file if it is missing, unreadable, empty, or has more
/// than `max_bytes`.
std::string read_text(const std::string& path, std::uint64_t max_bytes = UINT64_MAX);

}  // namespace lockstep
