// Checks whether a checkpoint can be trusted: header, length and digest. Nothing here parses HDF5,
// whose reader must not see damaged bytes.
#pragma once

#include <string>

#include "core/base/posix_file.h"

namespace lockstep {

/// The outcome of a check: sound, or what is wrong, in words that follow "PATH: ".
struct FileVerdict {
  std::string problem;
  bool ok() const { return problem.empty(); }
};

/// Checks every bit of the file. Does not throw: a file that cannot be opened or read has a problem
/// too. Reads the file once, as a stream, at the speed of SHA-256 (about 1.6 GB/s).
FileVerdict verify(const std::string& path);
FileVerdict verify(const PosixFile& file);

/// Checks header and length only: finds unfinished and foreign files, not flipped bits in the data.
FileVerdict verify_header(const std::string& path);

/// The message of an error about `path` without the "PATH: " it begins with.
std::string without_path(const Error& error, const std::string& path);

}  // namespace lockstep
