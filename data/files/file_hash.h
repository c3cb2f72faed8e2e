// Hashes of files' raw bytes, which tell whether ranks have the same files. What a data set means
// is Dataset::digest()'s business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/activity.h"
#include "core/base/hash.h"

namespace lockstep {

/// XXH3-128 of all bytes. Errors kData name the file. `activity` is told of the progress.
Hash128 hash_file(const std::string& path, Activity activity = {});

/// XXH3-128 of each of `count` pieces of equal size (the last may be shorter, and empty) that bytes
/// [begin, end) are divided into. Errors kData: name the file, also if it ends before `end`.
std::vector<Hash128> hash_pieces(const std::string& path, std::uint64_t begin, std::uint64_t end,
                                 std::size_t count, Activity activity = {});

/// XXH3-128 of `count` probes of `bytes` bytes (or what the file has), evenly spread from its first
/// to its last.
Hash128 hash_probes(const std::string& path, std::size_t count, std::size_t bytes);

}  // namespace lockstep
