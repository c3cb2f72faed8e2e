// What lies at the path that `lockstep init --data PATH` names, for the task that it is to be used
// for. Files are looked at briefly: names, first bytes, a first line or image.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// Data that a task can use.
struct FoundData {
  std::string what;            ///< for users: "3 text files, 1.2 MB"
  std::string_view part = {};  ///< the template of the section `data`; empty: the task's own
  std::vector<std::string> paths = {};             ///< data.path
  std::string val_path = {};                       ///< "": none was found
  std::map<std::string, std::string> values = {};  ///< further values of the template
  std::int64_t samples = 0;                        ///< to train on; 0: not known, and many
  std::string first_word = {};                     ///< of texts, which may begin a sample, or ""
  std::string note = {};                           ///< a sentence for the user, or ""
};

/// These return nothing if the path holds data of another kind. Error kData or kUsage naming the
/// file for data of the task's kind that it cannot be trained on.
///
/// A text file; JSON Lines with a field of texts; a folder with .txt or .jsonl files, at any depth.
std::optional<FoundData> find_texts(const std::string& path);
/// A folder for each class, alone or in train/ and val/; or IDX files of images and labels: a
/// folder of them, or the file of images.
std::optional<FoundData> find_images(const std::string& path);
/// JSON Lines or COCO's file, or a folder in which there is one of them.
std::optional<FoundData> find_captions(const std::string& path);

/// Whether a file of captions begins like this: an object with an image, or COCO's lists.
bool looks_like_captions(const std::string& path);
/// Also of a link to a folder.
bool is_folder(const std::string& path);
/// The first bytes of a file, as many as tell its kind. Error kData if it cannot be read.
std::string first_bytes(const std::string& path);
/// The files and folders in a folder that are not hidden, sorted. Error kData if it cannot be read.
std::vector<std::string> entries_of(const std::string& folder);
/// The extension of a path in small letters: ".jpg".
std::string extension_of(const std::string& path);
/// Whether a path has the extension of JSON Lines.
bool is_json_lines_name(const std::string& path);

}  // namespace lockstep
