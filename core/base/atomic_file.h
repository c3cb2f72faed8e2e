// A file that appears whole or not at all: written under a temporary name in the same folder,
// flushed, then renamed. Dying at any instant leaves the old file, the new file, or the old file
// and a temporary that the next writer removes.
//
// Every file that a command makes or replaces is written in this way. Files that grow line by line
// are the exception: logs, metrics.jsonl, compilations.jsonl and TensorBoard's are appended to, one
// write for each line, and readers skip an incomplete last line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/posix_file.h"

namespace lockstep {

class AtomicFile {
 public:
  /// Opens a temporary beside the file: ".<name>.<process>-<n>.tmp". A link stays, and its target
  /// is replaced. An old file must be a regular one that this process may write, and the new one
  /// gets its permissions, and its owner if this process may give that.
  AtomicFile(const std::string& path, ErrorKind kind);
  /// Replaces `path` itself, a link too, by a file of this mode, as PosixFile::create takes it.
  AtomicFile(const std::string& path, ErrorKind kind, unsigned mode);
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

/// Writes or replaces a file as an AtomicFile, and removes temporaries that dead writers of it have
/// left. `path` may also be a device, or what this process has open (/dev/stdout, /dev/fd/9), which
/// get the bytes as they are; a named pipe is refused.
/// Error `kind` naming `path` and the cause; nothing is changed then, and nothing left behind.
void write_file(const std::string& path, std::string_view bytes, ErrorKind kind);

/// Error `kind` if write_file() could not begin.
void check_can_write(const std::string& path, ErrorKind kind);

/// Removes temporaries of AtomicFiles in `folder` whose target's name begins with `prefix` and
/// whose writer is dead: a living writer holds the file's lock. Returns the removed names. On file
/// systems without locks nothing is removed. A folder that does not exist, or cannot be listed, has
/// none.
std::vector<std::string> remove_stale_temporaries(const std::string& folder,
                                                  const std::string& prefix);

/// The folder part of a path: "." for a bare name.
std::string parent_folder(const std::string& path);

}  // namespace lockstep
