#include <algorithm>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/json_place.h"
#include "core/base/metrics.h"
#include "data/files/plain_text.h"
#include "data/files/printable.h"
#include "data/files/utf8.h"
#include "data/images/image_file.h"
#include "trainer/init/found_data.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

/// A config with more names of files would not be read by anyone.
constexpr std::size_t kMaxTextFiles = 100;

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

/// A word that the vocabulary of any tokenizer of this text has. Only what a shell takes as it is.
std::string first_word(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           static_cast<unsigned char>(c) >= 0x80;
  };
  constexpr std::size_t kMaxBytes = 24;
  const auto begin = std::ranges::find_if(text, is_plain);
  const auto end = std::find_if_not(begin, text.end(), is_plain);
  const std::string_view word(begin, end);
  return word.size() <= kMaxBytes ? std::string(word) : "";
}

/// Training would find this later, and not name the remedy.
void check_text(const std::string& path, std::string_view bytes) {
  const std::size_t end = end_of_utf8(bytes, 0);
  const std::string_view rest = bytes.substr(end);
  if (!rest.empty() && !begins_character(rest.substr(0, 4)))
    raise(
        ErrorKind::kData,
        "{}: byte 0x{:02X} at offset {} is not UTF-8; convert the file (iconv -f latin1 -t utf-8)",
        printable(path), static_cast<unsigned char>(rest[0]), end);
}

/// As many positions as the longest of the first documents has characters, but not so many that a
/// small model takes long.
std::int64_t positions_for(const std::string& path, const std::string& field) {
  constexpr std::int64_t kMin = 64;
  constexpr std::int64_t kMax = 256;
  const std::string bytes = first_bytes(path);
  std::size_t longest = 0;
  for (std::size_t at = 0, end = 0; (end = bytes.find('\n', at)) != bytes.npos; at = end + 1) {
    const std::string line = bytes.substr(at, end - at);
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    longest =
        std::max(longest, count_characters(JsonPlace::parse(line, path).string_or(field, "")));
  }
  std::int64_t out = kMin;
  while (out < kMax && out < static_cast<std::int64_t>(longest) + 1) out *= 2;
  return out;
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
        "{}: its first object has {}, so that it is not clear where the texts are: call the field "
        "of the texts \"text\", or set data.text_field in a config without --data",
        printable(path), names.empty() ? "no field with a text" : "several fields with texts");
}

FoundData found_json_lines(std::vector<std::string> files) {
  const std::string field = field_of_texts(files[0]);
  const auto object = first_object(files[0]);
  const std::int64_t positions = positions_for(files[0], field);
  return {.what = count_of_files(files, "JSON Lines") + ", " + total_size(files),
          .part = "data_jsonl",
          .paths = std::move(files),
          .values = {{"field", field}, {"positions", std::to_string(positions)}},
          .first_word = object ? first_word(object->string_or(field, "")) : ""};
}

FoundData found_text(std::vector<std::string> files) {
  std::string word;
  for (const std::string& file : files) {
    const std::string bytes = first_bytes(file);
    if (const auto foreign = foreign_format(bytes))
      raise(ErrorKind::kData, "{}: {} and no text: {}", printable(file), foreign->what,
            foreign->remedy);
    check_text(file, bytes);
    if (word.empty()) word = first_word(bytes);
  }
  std::erase_if(files, [](const std::string& file) { return fs::file_size(file) == 0; });
  return {.what = count_of_files(files, "text") + ", " + total_size(files),
          .part = "data_text",
          .paths = std::move(files),
          .first_word = word};
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
  if (is_image_name(path)) return std::nullopt;
  if (bytes.starts_with(std::string_view("\0\0\x08", 3))) return std::nullopt;  // IDX
  if (bytes.empty()) raise(ErrorKind::kData, "{}: an empty file", printable(path));
  if (looks_like_captions(path)) return std::nullopt;
  if (is_json_lines_name(path) || looks_like_jsonl(bytes)) return found_json_lines({path});
  return found_text({path});
}

}  // namespace lockstep
