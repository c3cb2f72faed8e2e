// The digest of a checkpoint's contents: everything that follows its header.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>

#include "core/base/posix_file.h"

namespace lockstep {

/// SHA-256 of the file's bytes from 512 (kHeaderBytes) to its end, read as a stream. `look`
/// receives the bytes, in order, with their offset in the file.
std::array<std::uint8_t, 32> content_digest(
    const PosixFile& file,
    const std::function<void(std::uint64_t, std::span<const std::byte>)>& look = {});

}  // namespace lockstep
