#include "data/images/image_folder.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "data/digest.h"
#include "data/files/printable.h"
#include "data/files/source_file.h"
#include "data/images/decode_image.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

bool is_image_name(const fs::path& name) {
  std::string extension = name.extension().string();
  for (char& c : extension)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

/// Whether it is a folder, or a link to one. A link among classes that leads nowhere is an error:
/// without it the classes behind it would have other labels.
bool is_class(const fs::directory_entry& entry) {
  std::error_code error;
  const fs::file_type type = entry.status(error).type();
  if (type == fs::file_type::none || (type == fs::file_type::not_found && entry.is_symlink()))
    raise(ErrorKind::kData, "{}: cannot be followed: {}", printable(entry.path().string()),
          error.message());
  return type == fs::file_type::directory;
}

/// Who reads it says what is wrong with it.
bool has_image_name(const fs::directory_entry& entry) {
  std::error_code error;
  return is_image_name(entry.path().filename()) && !entry.is_directory(error);
}

/// The names in a folder that are not hidden, sorted; folders, or else images.
std::vector<std::string> names_in(const std::string& folder, bool folders) {
  std::vector<std::string> out;
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with('.') && (folders ? is_class(entry) : has_image_name(entry)))
        out.push_back(name);
    }
  } catch (const fs::filesystem_error& error) {
    raise(ErrorKind::kData, "{}: cannot be read: {}", printable(folder), error.code().message());
  }
  std::ranges::sort(out);
  return out;
}

/// All of an image; of something else its beginning, however much it is.
std::vector<std::uint8_t> bytes_of(const std::string& path) {
  constexpr std::size_t kHead = 16;
  const SourceFile file(path);
  std::vector<std::uint8_t> out(std::min<std::size_t>(file.size(), kHead));
  file.read(0, std::as_writable_bytes(std::span(out)));
  if (!is_image(out)) return out;
  out.resize(file.size());
  file.read(0, std::as_writable_bytes(std::span(out)));
  return out;
}

}  // namespace

ImageFolder::ImageFolder(const std::string& folder, std::vector<std::string> classes)
    : folder_(folder), classes_(std::move(classes)) {
  const std::vector<std::string> own = names_in(folder, /*folders=*/true);
  if (own.empty())
    raise(ErrorKind::kData, "{}: no class in it: images lie in a folder for each class",
          printable(folder));
  if (classes_.empty()) classes_ = own;
  for (const std::string& name : own) {
    const std::string path = folder + "/" + name;
    const auto found = std::ranges::find(classes_, name);
    if (found == classes_.end())
      raise(ErrorKind::kData, "{}: not one of the {} classes of the data trained on",
            printable(path), classes_.size());
    const std::vector<std::string> images = names_in(path, /*folders=*/false);
    if (images.empty()) raise(ErrorKind::kData, "{}: no PNG or JPEG image in it", printable(path));
    for (const std::string& image : images)
      files_.push_back({path + "/" + image, found - classes_.begin()});
  }
}

Raster ImageFolder::image(std::int64_t index) const {
  return decode_image(bytes_of(at(index).path), source(index));
}

std::string ImageFolder::digest() const {
  Sha256 hash;
  for (const File& file : files_) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(file.path, error);  // who reads it says what is wrong
    const std::string line =
        fmt::format("{} {} {}\n", file.label, error ? 0 : size, file.path.substr(folder_.size()));
    hash.update(line.data(), line.size());
  }
  return finish_hex(hash);
}

std::string ImageFolder::describe() const {
  return fmt::format("{}: {} images of {} classes", printable(folder_), size(), classes_.size());
}

std::string ImageFolder::source(std::int64_t index) const {
  return printable(at(index).path);
}

Raster ImageFiles::image(std::int64_t index) const {
  return decode_image(bytes_of(paths_[static_cast<std::size_t>(index)]), source(index));
}

std::string ImageFiles::source(std::int64_t index) const {
  return printable(paths_[static_cast<std::size_t>(index)]);
}

std::string ImageFiles::digest() const {
  Sha256 hash;
  for (const std::string& path : paths_) {
    const std::vector<std::uint8_t> bytes = bytes_of(path);
    hash.update(bytes.data(), bytes.size());
  }
  return finish_hex(hash);
}

std::string ImageFiles::describe() const {
  return fmt::format("{} images", size());
}

std::vector<std::string> image_files(const std::string& folder) {
  std::vector<std::string> out;
  try {
    for (const std::string& name : names_in(folder, /*folders=*/true))
      for (const std::string& image : names_in(folder + "/" + name, /*folders=*/false))
        out.push_back(folder + "/" + name + "/" + image);
  } catch (const Error&) {
    return {};  // who opens the folder says why
  }
  return out;
}

}  // namespace lockstep
