// The checkpoints of a run: files "step-00001500.h5" in one folder. Beside them there may be files
// "step-00001500.suspect.h5": states that are whole but absurd, or that a run left behind which
// blew up or went back, kept for a look. They are nobody's newest, best or last: nothing resumes
// from one that is not named, nothing counts or prunes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

/// What the names of checkpoints, and of their temporaries after a dot, begin with.
inline constexpr const char* kCheckpointPrefix = "step-";

struct CheckpointFile {
  std::int64_t step;  ///< from the name
  std::string path;
};

/// "step-00001500.h5": at least eight digits.
std::string checkpoint_file_name(std::int64_t step);
/// "step-00001500.suspect.h5"
std::string suspect_file_name(std::int64_t step);

/// The folder's checkpoints by name, lowest step first. Files of other names are left out; a folder
/// that does not exist has none. Error kCheckpoint if it cannot be listed.
std::vector<CheckpointFile> list_checkpoints(const std::string& folder);

/// The same for the suspect ones.
std::vector<CheckpointFile> list_suspects(const std::string& folder);

/// The folder of checkpoints that a user means: `path`/checkpoints if that is a folder, for a run;
/// else `path`.
std::string checkpoint_folder_of(const std::string& path);

}  // namespace lockstep
