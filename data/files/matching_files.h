// Shell patterns for datasets of several files: "tokens/train_*.bin".
#pragma once

#include <string>
#include <vector>

namespace lockstep {

/// The files that match `pattern` (glob(7)), sorted by name; a plain path matches itself.
/// Error kData if nothing matches.
std::vector<std::string> matching_files(const std::string& pattern);

}  // namespace lockstep
