// The digest of a checkpoint's contents: everything that follows its header.
#pragma once

#include <array>
#include <cstdint>

#include "core/base/posix_file.h"

namespace lockstep {

/// SHA-256 of the file's bytes from 512 (kHeaderBytes) to its end, read as a stream.
std::array<std::uint8_t, 32> content_digest(const PosixFile& file);

}  // namespace lockstep
