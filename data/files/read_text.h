// A whole text file in memory.
#pragma once

#include <string>

namespace lockstep {

/// The file's bytes. Error kData naming the file if it is missing, unreadable or empty.
std::string read_text(const std::string& path);

}  // namespace lockstep
