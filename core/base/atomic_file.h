// A file that appears whole or not at all: written under a temporary name in the same folder,
// flushed, then renamed. Dying at any instant leaves the old file, the new file, or the old file
// and a temporary that the next writer removes.
#pragma once

#include <string>
#include <vector>

#include "core/base/posix_file.h"

namespace lockstep {

class AtomicFile {
 public:
  /// Opens a temporary beside `path`: ".<name>.<process>-<n>.tmp".
  /// `mode` as PosixFile::create takes it.
  AtomicFile(const std::string& path, ErrorKind kind, unsigned mode = 0666);
  /// Removes the temporary unless it was committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  PosixFile& file() { return file_; }

  /// fsync, rename, fsync of the folder. After it returns, the new file survives a power cut.
  void commit();

 private:
  std::string path_;
  PosixFile file_;
  bool committed_ = false;
};

/// Removes temporaries of AtomicFiles in `folder` whose target's name begins with `prefix` and
/// whose writer is dead: a living writer holds the file's lock. Returns the removed names. On file
/// systems without locks nothing is removed. A folder that does not exist, or cannot be listed, has
/// none.
std::vector<std::string> remove_stale_temporaries(const std::string& folder,
                                                  const std::string& prefix);

/// The folder part of a path: "." for a bare name.
std::string parent_folder(const std::string& path);

}  // namespace lockstep
