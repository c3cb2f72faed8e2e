// Writes of data that is too large for the caches and is not read again soon, with stores that
// bypass the caches: the lines that are overwritten are not read first. Other threads may read `to`
// after a function has returned and they have synchronized with it as usual.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep {

/// std::memcpy, with a third of the traffic saved. `from` is in the caches afterwards, `to` is not.
void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes);

/// Writes the bytes of `pattern` over and over, with half of the traffic saved. The pattern repeats
/// an element of 1, 2, 4 or 8 bytes, of which `to` is a multiple.
void stream_fill(std::byte* to, std::uint64_t pattern, std::size_t bytes);

}  // namespace lockstep
