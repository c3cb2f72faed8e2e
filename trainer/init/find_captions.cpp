#include <algorithm>
#include <filesystem>
#include <set>

#include "core/base/error.h"
#include "data/captions/caption_file.h"
#include "data/files/printable.h"
#include "data/files/utf8.h"
#include "trainer/init/found_data.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

bool is_json_name(const std::string& path) {
  return extension_of(path) == ".json" || is_json_lines_name(path);
}

bool has_member(std::string_view text, std::string_view key) {
  return text.find(fmt::format("\"{}\"", key)) != text.npos;
}

std::set<char32_t> characters_of(std::string_view text) {
  std::set<char32_t> out;
  for (std::size_t at = 0; at < text.size();) {
    const auto character = decode_utf8(text, at);
    if (!character) break;  // the reader of captions has refused it
    out.insert(character->code_point);
    at += character->bytes;
  }
  return out;
}

/// Whether all characters of `texts` are among those of `known`.
bool is_known(const std::string& texts, const std::string& known) {
  return std::ranges::includes(characters_of(known), characters_of(texts));
}

FoundData found_captions(const std::string& path, std::string val_path) {
  const CaptionFile file = read_captions(path);
  std::string note;
  // The tokens are the characters of the captions that are trained on.
  if (!val_path.empty() && !is_known(read_captions(val_path).text(), file.text())) {
    note = fmt::format("{} has characters that {} has not, and is left out", printable(val_path),
                       printable(path));
    val_path.clear();
  }
  // That of the end of a line, in the order of the characters: there may be tabs before it.
  std::size_t end_token = 0;
  for (const char32_t character : characters_of(file.text()))
    end_token += character < U'\n' ? 1 : 0;
  std::size_t captions = 0;
  for (const CaptionedImage& image : file.images) captions += image.captions.size();
  FoundData out{
      .what = fmt::format("{}: {} images, {} captions", path, file.images.size(), captions),
      .paths = {path},
      .val_path = val_path,
      .values = {{"end", std::to_string(end_token)}},
      .samples = static_cast<std::int64_t>(file.images.size()),
      .note = note};
  const std::string first = file.image_path(file.images.front());
  std::error_code error;
  if (!fs::exists(first, error))
    out.note = fmt::format("{} is not there: set data.images to the folder of the images",
                           printable(first));
  return out;
}

/// The file whose name says that it is to validate on, if there are two.
bool is_for_validation(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  for (const char* word : {"val", "test", "dev"})
    if (name.find(word) != name.npos) return true;
  return false;
}

}  // namespace

bool looks_like_captions(const std::string& path) {
  if (!is_json_name(path)) return false;
  const std::string bytes = first_bytes(path);
  const std::string_view line = std::string_view(bytes).substr(0, bytes.find('\n'));
  return (has_member(line, "image") &&
          (has_member(line, "caption") || has_member(line, "captions"))) ||
         (has_member(bytes, "images") && has_member(bytes, "file_name")) ||
         (has_member(bytes, "annotations") && has_member(bytes, "image_id"));
}

std::optional<FoundData> find_captions(const std::string& path) {
  if (!is_folder(path)) {
    if (!looks_like_captions(path)) return std::nullopt;
    return found_captions(path, "");
  }
  std::vector<std::string> train;
  std::vector<std::string> validation;
  for (const std::string& entry : entries_of(path)) {
    if (is_folder(entry) || !looks_like_captions(entry)) continue;
    (is_for_validation(entry) ? validation : train).push_back(entry);
  }
  if (train.empty()) std::swap(train, validation);
  if (train.empty()) return std::nullopt;
  LS_USER_CHECK(train.size() == 1 && validation.size() <= 1,
                "{}: {} files of captions: name the one to train on, as --data {}", printable(path),
                train.size() + validation.size(), printable(train[0]));
  return found_captions(train[0], validation.empty() ? "" : validation[0]);
}

}  // namespace lockstep
