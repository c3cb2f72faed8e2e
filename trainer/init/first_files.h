// `lockstep init`: the files that somebody begins with, as texts: a config with comments for data
// of theirs, or the source of an own model. They are templates (trainer/init/templates) that are
// filled with what was found at the data's path.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/settings/key.h"

namespace lockstep {

enum class FirstTask : std::uint8_t { kText, kImages, kCaptions, kOwnModel };

template <>
struct EnumNames<FirstTask> {
  static constexpr std::array<std::string_view, 4> kNames{"text", "images", "captions",
                                                          "own_model"};
};

struct FirstFile {
  std::string path;
  std::string text;
};

struct FirstFiles {
  std::vector<FirstFile> files;   ///< to be written; the first is the config, if there is one
  std::string folder = {};        ///< which has them, and is new; "": they stand beside others
  std::string what = {};          ///< the data, for users
  std::string note = {};          ///< what has to be done first; "": nothing
  std::vector<std::string> next;  ///< commands to go on with
};

/// The files of a job `name`, which may end in ".yaml" and begin with folders, for the data at
/// `data`; without it the config names a file that the user makes. Without a task it is the one
/// that the data fits. Error kUsage for a name of other characters than letters, digits and
/// "._-/", for a missing path, and for data of another kind, with the task that it fits; kData for
/// data that is broken.
FirstFiles first_files(const std::string& name, std::optional<FirstTask> task,
                       const std::optional<std::string>& data);

}  // namespace lockstep
