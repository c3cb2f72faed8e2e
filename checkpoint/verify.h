// Checks whether a checkpoint can be trusted: header, length and digest. Nothing here parses HDF5,
// whose reader must not see damaged bytes.
#pragma once

#include <string>

#include "core/base/posix_file.h"

namespace lockstep {

/// The outcome of a check: sound, or the problem, as text that follows "PATH: ".
struct Verdict {
  std::string problem;
  bool ok() const { return problem.empty(); }
};

/// Checks every bit of the file. Does not throw: a file that cannot be opened or read also has a
/// problem. Reads the file once, as a stream, at the speed of SHA-256 (about 1.6 GB/s).
Verdict verify(const std::string& path);
Verdict verify(const PosixFile& file);

/// Checks only header and length: finds unfinished and foreign files, not flipped bits in the data.
Verdict verify_header(const std::string& path);

/// The message of an error about `path` without the "PATH: " it begins with.
std::string without_path(const Error& error, const std::string& path);

}  // namespace lockstep
