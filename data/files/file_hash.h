// Hashes of files' raw bytes, which show whether ranks have the same files. Dataset::digest()
// covers the meaning of a data set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/activity.h"
#include "core/base/hash.h"

namespace lockstep {

/// XXH3-128 of all bytes. Errors kData name the file. `activity` reports the progress.
Hash128 hash_file(const std::string& path, Activity activity = {});

/// XXH3-128 of each of `count` pieces of equal size (the last may be shorter, and empty) that bytes
/// [begin, end) are divided into. Errors kData: name the file, also if it ends before `end`.
std::vector<Hash128> hash_pieces(const std::string& path, std::uint64_t begin, std::uint64_t end,
                                 std::size_t count, Activity activity = {});

/// How much of a set of files is hashed: all of it if that takes only seconds.
enum class HashCoverage : std::uint8_t {
  kWhole,
  kProbesOfAll,
  kProbesOfSome,  ///< of as many files as kProbedFiles, evenly spread
};
inline constexpr std::size_t kProbes = 256;  ///< of a file that is not hashed whole
inline constexpr std::size_t kProbeBytes = 4096;
inline constexpr std::size_t kProbedFiles = 256;

struct HashLimits {
  std::uint64_t whole_bytes = std::uint64_t{8} << 30;  ///< hashed in full up to this size
  std::size_t whole_files = 65536;                     ///< and up to this many files
  std::size_t probed_files = 4096;                     ///< up to this many files, each has probes
};

HashCoverage hash_coverage(std::size_t files, std::uint64_t bytes, const HashLimits& limits);
/// Whether anything of file number `i` is hashed.
bool is_hashed(std::size_t i, std::size_t files, HashCoverage coverage);

/// XXH3-128 of `count` probes of `bytes` bytes (or fewer, if the file is shorter), evenly spread
/// from the first byte to the last.
Hash128 hash_probes(const std::string& path, std::size_t count, std::size_t bytes);

}  // namespace lockstep
