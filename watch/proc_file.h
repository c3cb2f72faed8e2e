// Reads files of /proc, whose size is unknown until they are read.
#pragma once

#include <optional>
#include <string>

namespace lockstep {

/// The whole file; nullopt if it cannot be opened or read, or is larger than 1 MiB.
std::optional<std::string> read_proc_file(const std::string& path);

}  // namespace lockstep
