// The checkpoints of a run: files "step-00001500.h5" in one folder. It may also contain files
// "step-00001500.suspect.h5": states that are complete but have absurd values, or that a run left
// when it diverged or went back; they are kept for inspection. They never count as newest, best or
// last: a run resumes from one only if it is named, and they are not counted or pruned.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

/// The prefix of the names of checkpoints, and of their temporaries after a dot.
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

/// The folder of checkpoints for a user's `path`: `path`/checkpoints if that is a folder, for a
/// run; else `path`.
std::string checkpoint_folder_of(const std::string& path);

}  // namespace lockstep
