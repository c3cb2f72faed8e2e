// Removes and moves the folders of runs. Both hold the run's lock meanwhile, so that no training
// writes to it, and work on the folder itself, never on what a link in or to it points to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

/// How the name of a run's folder ends while it is removed.
inline constexpr const char* kRemoving = ".removing";

/// Error kUsage unless `path` is a run's folder, or the rest of a removal: a link, a folder that
/// lacks what a run has (the message says what), or one in which a training writes (it names the
/// process).
void require_movable(const std::string& path);

/// Bytes of a folder's files; links are not followed.
std::uint64_t bytes_in(const std::string& folder);

/// Removes a folder for which require_movable() holds. It is renamed to "NAME.removing" first: who
/// is killed leaves the whole run, or a rest of that name, which can be removed in the same way.
void remove_run(const std::string& path);

struct MovedRun {
  std::string path = {};  ///< where it is now
  std::string note = {};  ///< "" or why its config.yaml still has the old name
};

/// Renames a run, and sets run.dir and run.name in its config.yaml accordingly, so that training
/// with it goes on in the new folder. `to`: a name beside the old one; with a '/' a path, or a
/// folder to move it into. Who is killed between both leaves the run under its new name, and the
/// same call again sets its config. Error kUsage as above, if there is something of the new name,
/// or if it is on another file system.
MovedRun move_run(const std::string& path, const std::string& to);

}  // namespace lockstep
