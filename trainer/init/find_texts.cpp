#include <algorithm>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/json_place.h"
#include "core/base/metrics.h"
#include "data/files/plain_text.h"
#include "data/files/printable.h"
#include "trainer/init/found_data.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

/// A config with more names of files would not be read by anyone.
constexpr std::size_t kMaxTextFiles = 100;

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

/// Adds the files in a folder, at any depth, for which `is_wanted`. Links to folders are not
/// followed: they may lead back.
void add_files(const std::string& folder, bool (*is_wanted)(const std::string&),
               std::vector<std::string>& to) {
  for (const std::string& entry : entries_of(folder)) {
    std::error_code error;
    if (is_folder(entry)) {
      if (!fs::is_symlink(entry, error)) add_files(entry, is_wanted, to);
    } else if (is_wanted(entry)) {
      to.push_back(entry);
    }
  }
}

bool is_text_name(const std::string& path) {
  return extension_of(path) == ".txt";
}

std::string total_size(const std::vector<std::string>& files) {
  std::uintmax_t bytes = 0;
  for (const std::string& file : files) {
    std::error_code error;
    if (const std::uintmax_t size = fs::file_size(file, error); !error) bytes += size;
  }
  return format_bytes(static_cast<double>(bytes));
}

std::string count_of_files(const std::vector<std::string>& files, std::string_view kind) {
  return files.size() == 1 ? fmt::format("{}: {}", files[0], kind)
                           : fmt::format("{} files: {}", files.size(), kind);
}

/// The first object of a file of JSON Lines; nothing if the line is longer than what was read.
std::optional<JsonPlace> first_object(const std::string& path) {
  const std::string bytes = first_bytes(path);
  std::size_t begin = bytes.find_first_not_of(" \t\r\n");
  if (begin == bytes.npos) raise(ErrorKind::kData, "{}: an empty file", printable(path));
  const std::size_t end = bytes.find('\n', begin);
  std::error_code error;
  if (end == bytes.npos && fs::file_size(path, error) > bytes.size()) return std::nullopt;
  return JsonPlace::parse(bytes.substr(begin, end == bytes.npos ? end : end - begin), path);
}

/// `text`, or else the only field that is a text.
std::string field_of_texts(const std::string& path) {
  const auto object = first_object(path);
  if (!object) return "text";
  std::vector<std::string> names;
  object->for_each_member([&](const std::string& name, const JsonPlace& value) {
    if (value.is_string()) names.push_back(name);
  });
  if (std::ranges::find(names, "text") != names.end()) return "text";
  if (names.size() == 1) return names[0];
  raise(ErrorKind::kData,
        "{}: its first object has {}, so that it is not clear where the texts are: rename the "
        "field of the texts to \"text\"",
        printable(path), names.empty() ? "no field with a text" : "several fields with texts");
}

FoundData found_json_lines(std::vector<std::string> files) {
  const std::string field = field_of_texts(files[0]);
  return {.what = count_of_files(files, "JSON Lines") + ", " + total_size(files),
          .part = "data_jsonl",
          .paths = std::move(files),
          .values = {{"field", field}}};
}

FoundData found_text(std::vector<std::string> files) {
  for (const std::string& file : files)
    if (const auto foreign = foreign_format(first_bytes(file)))
      raise(ErrorKind::kData, "{}: {} and no text: {}", printable(file), foreign->what,
            foreign->remedy);
  std::erase_if(files, [](const std::string& file) { return fs::file_size(file) == 0; });
  return {.what = count_of_files(files, "text") + ", " + total_size(files),
          .part = "data_text",
          .paths = std::move(files)};
}

std::optional<FoundData> found_in_folder(const std::string& path) {
  std::vector<std::string> texts;
  std::vector<std::string> lines;
  add_files(path, is_text_name, texts);
  add_files(path, is_json_lines_name, lines);
  std::erase_if(lines, looks_like_captions);
  if (texts.empty() && lines.empty()) return std::nullopt;
  LS_USER_CHECK(texts.empty() || lines.empty(),
                "{}: {} .txt and {} .jsonl files: put those to train on into a folder of their own",
                printable(path), texts.size(), lines.size());
  const bool is_text = !texts.empty();
  std::vector<std::string>& files = is_text ? texts : lines;
  LS_USER_CHECK(files.size() <= kMaxTextFiles,
                "{}: {} files; join them to {} at most, or make token shards of them (`lockstep "
                "prepare text`, then data.type: tokens)",
                printable(path), files.size(), kMaxTextFiles);
  if (!is_text) return found_json_lines(std::move(files));
  FoundData out = found_text(std::move(files));
  if (out.paths.empty()) raise(ErrorKind::kData, "{}: all text files are empty", printable(path));
  return out;
}

}  // namespace

std::optional<FoundData> find_texts(const std::string& path) {
  if (is_folder(path)) return found_in_folder(path);
  const std::string bytes = first_bytes(path);
  const std::string extension = extension_of(path);
  if (extension == ".png" || extension == ".jpg" || extension == ".jpeg") return std::nullopt;
  if (bytes.starts_with(std::string_view("\0\0\x08", 3))) return std::nullopt;  // IDX
  if (bytes.empty()) raise(ErrorKind::kData, "{}: an empty file", printable(path));
  if (looks_like_captions(path)) return std::nullopt;
  if (is_json_lines_name(path) || looks_like_jsonl(bytes)) return found_json_lines({path});
  return found_text({path});
}

}  // namespace lockstep
