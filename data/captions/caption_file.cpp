#include "data/captions/caption_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/json_place.h"
#include "data/files/lines.h"
#include "data/files/printable.h"
#include "data/files/read_text.h"

namespace lockstep {
namespace {

std::string image_name(const JsonPlace& value) {
  std::string out = value.string();
  if (out.empty() || out.find('\0') != std::string::npos)
    value.refuse(fmt::format("{} is no file's name", value.describe()));
  return out;
}

Caption caption_at(const JsonPlace& value, std::int64_t at) {
  Caption out{value.string(), at};
  if (is_blank(out.text)) value.refuse("the caption is empty");
  return out;
}

CaptionedImage image_of_line(const JsonPlace& object, std::int64_t line) {
  if (!object.is_object())
    object.refuse(fmt::format("a line must be an object, not {}", object.describe()));
  CaptionedImage out{.name = image_name(object.at("image")), .at = line};
  const std::optional<JsonPlace> one = object.find_any("caption");
  const std::optional<JsonPlace> several = object.find_any("captions");
  if (one.has_value() == several.has_value())
    object.refuse(fmt::format("an image needs either 'caption' or 'captions', but this one has {}",
                              one ? "both" : "neither"));
  if (one) out.captions.push_back(caption_at(*one, line));
  if (several) {
    for (const JsonPlace& caption : several->elements())
      out.captions.push_back(caption_at(caption, line));
    if (out.captions.empty()) several->refuse("an image without captions; remove the line");
  }
  return out;
}

void add_lines(const std::string& text, CaptionFile& to) {
  std::int64_t lines = 0;
  for_each_line(text, [&](std::int64_t number, std::string_view line) {
    lines = number;
    if (is_blank(line)) return;
    to.images.push_back(image_of_line(
        JsonPlace::parse(std::string(line), JsonSource{.name = to.path, .line = number}), number));
  });
  if (to.images.empty()) raise(ErrorKind::kData, "{}: no captions in {} lines", to.path, lines);
}

std::int64_t image_id(const JsonPlace& object, std::string_view key) {
  using Limits = std::numeric_limits<std::int64_t>;
  return object.at(key).integer(Limits::min(), Limits::max());
}

void add_coco(const JsonPlace& root, CaptionFile& to) {
  const std::vector<JsonPlace> images = root.at("images").elements();
  std::unordered_map<std::int64_t, std::size_t> by_id;
  for (const JsonPlace& image : images) {
    const std::size_t index = to.images.size();
    const std::int64_t id = image_id(image, "id");
    if (const auto [before, is_new] = by_id.emplace(id, index); !is_new)
      image.refuse(fmt::format("its id {} is that of images[{}], too", id, before->second));
    to.images.push_back(
        {.name = image_name(image.at("file_name")), .at = static_cast<std::int64_t>(index)});
  }
  std::int64_t index = 0;
  for (const JsonPlace& annotation : root.at("annotations").elements()) {
    const std::int64_t id = image_id(annotation, "image_id");
    const auto image = by_id.find(id);
    if (image == by_id.end())
      annotation.at("image_id")
          .refuse(fmt::format("none of the {} images has the id {}", images.size(), id));
    to.images[image->second].captions.push_back(caption_at(annotation.at("caption"), index++));
  }
  if (index == 0) raise(ErrorKind::kData, "{}: no captions in it", to.path);
  for (std::size_t i = 0; i < images.size(); ++i)
    if (to.images[i].captions.empty())
      images[i].refuse("an image without captions; remove it from 'images'");
}

/// Whether an object in the text may have this member.
bool may_have_member(std::string_view text, std::string_view key) {
  const std::string quoted = fmt::format("\"{}\"", key);
  for (std::size_t at = text.find(quoted); at != text.npos; at = text.find(quoted, at + 1)) {
    const std::size_t next = text.find_first_not_of(" \t\r\n", at + quoted.size());
    if (next != text.npos && text[next] == ':') return true;
  }
  return false;
}

std::string_view first_line(std::string_view text) {
  std::string_view out;
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != text.npos) out = text.substr(begin, text.find('\n', begin) - begin);
  return out;
}

/// A line of JSON Lines has an image; a file of COCO has lists, maybe on many lines.
bool looks_like_coco(std::string_view text) {
  return !may_have_member(first_line(text), "image") &&
         (may_have_member(text, "images") || may_have_member(text, "annotations"));
}

}  // namespace

std::string CaptionFile::image_path(const CaptionedImage& image) const {
  return (std::filesystem::path(folder) / image.name).string();
}

std::string CaptionFile::place_of(const CaptionedImage& image) const {
  return is_coco ? fmt::format("{}: images[{}]", printable(path), image.at)
                 : fmt::format("{}:{}", printable(path), image.at);
}

std::string CaptionFile::place_of(const Caption& caption) const {
  return is_coco ? fmt::format("{}: annotations[{}]", printable(path), caption.at)
                 : fmt::format("{}:{}", printable(path), caption.at);
}

std::string CaptionFile::text() const {
  std::string out;
  for (const CaptionedImage& image : images)
    for (const Caption& caption : image.captions) out += caption.text + '\n';
  return out;
}

CaptionFile read_captions(const std::string& path, const std::string& folder) {
  CaptionFile out{.path = path, .folder = folder};
  if (folder.empty()) out.folder = std::filesystem::path(path).parent_path().string();
  std::string text = read_text(path);
  out.is_coco = looks_like_coco(text);
  if (out.is_coco)
    add_coco(JsonPlace::parse(std::move(text), path), out);
  else
    add_lines(text, out);
  return out;
}

std::vector<std::string> files_of_captions(const std::string& path, const std::string& folder) {
  try {
    const CaptionFile file = read_captions(path, folder);
    std::vector<std::string> out = {path};
    for (const CaptionedImage& image : file.images) out.push_back(file.image_path(image));
    return out;
  } catch (const Error&) {
    return {};  // the error is reported when the data is opened
  }
}

}  // namespace lockstep
