// The folder of a launched job for temporary files, among them mpirun's session: its TMPDIR.
#pragma once

#include <string>

namespace lockstep {

/// PARENT/lockstep-XXXXXX, only for this user, with a name that is of no use for anything else. It
/// is locked while its owner lives, however it ends, and removed at the end; what an owner left
/// that was killed is removed when the next one begins, once no process has it as its TMPDIR.
class LaunchFolder {
 public:
  /// Error kUsage if it cannot be made.
  explicit LaunchFolder(const std::string& parent);
  ~LaunchFolder();
  LaunchFolder(const LaunchFolder&) = delete;
  LaunchFolder& operator=(const LaunchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int lock_ = -1;
};

}  // namespace lockstep
