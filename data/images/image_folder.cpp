#include "data/images/image_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "data/files/printable.h"
#include "data/images/image_file.h"
#include "data/samples/digest.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

/// Whether it is a folder, or a link to one. A link to a class that leads nowhere is an error:
/// without it, the labels of the following classes would change.
bool is_class(const fs::directory_entry& entry) {
  std::error_code error;
  const fs::file_type type = entry.status(error).type();
  if (type == fs::file_type::none || (type == fs::file_type::not_found && entry.is_symlink()))
    raise(ErrorKind::kData, "{}: cannot be followed: {}", printable(entry.path().string()),
          error.message());
  return type == fs::file_type::directory;
}

/// Calls `take` with each entry of a folder that is not hidden.
template <class Take>
void for_each_in(const std::string& folder, const Take& take) {
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
      if (const std::string name = entry.path().filename().string(); !name.starts_with('.'))
        take(entry, name);
  } catch (const fs::filesystem_error& error) {
    raise(ErrorKind::kData, "{}: cannot be read: {}", printable(folder), error.code().message());
  }
}

/// The names of the folders in a folder, sorted.
std::vector<std::string> classes_in(const std::string& folder, LeftOut& images) {
  std::vector<std::string> out;
  for_each_in(folder, [&](const fs::directory_entry& entry, const std::string& name) {
    if (is_class(entry))
      out.push_back(name);
    else if (is_image_name(name))
      images.add(folder + "/" + name);
  });
  std::ranges::sort(out);
  return out;
}

/// The names of the images in a folder, sorted; the reader of an image reports its errors.
std::vector<std::string> images_in(const std::string& folder, LeftOut& other_files,
                                   LeftOut& inner_folders) {
  std::vector<std::string> out;
  for_each_in(folder, [&](const fs::directory_entry& entry, const std::string& name) {
    std::error_code error;
    if (entry.is_directory(error)) {
      inner_folders.add(folder + "/" + name);
    } else if (is_image_name(name)) {
      out.push_back(name);
    } else {
      other_files.add(folder + "/" + name);
    }
  });
  std::ranges::sort(out);
  return out;
}

void add_images_below(const std::string& folder, std::vector<std::string>& to) {
  for_each_in(folder, [&](const fs::directory_entry& entry, const std::string& name) {
    const std::string path = (fs::path(folder) / name).string();
    std::error_code error;
    if (entry.is_directory(error)) {
      if (!entry.is_symlink(error)) add_images_below(path, to);
    } else if (is_image_name(name)) {
      to.push_back(path);
    }
  });
}

}  // namespace

void LeftOut::add(const std::string& path) {
  if (count == 0 || path < first) first = path;
  ++count;
}

ImageFolder::ImageFolder(const std::string& folder, std::vector<std::string> classes,
                         const ImageLimits& limits)
    : folder_(folder), limits_(limits), classes_(std::move(classes)) {
  const std::vector<std::string> own = classes_in(folder, of_no_class_);
  if (own.empty())
    raise(ErrorKind::kData, "{}: no class in it: images must be in one folder for each class",
          printable(folder));
  if (classes_.empty()) classes_ = own;
  for (const std::string& name : own) {
    const std::string path = fmt::format("{}/{}", folder, name);
    const auto found = std::ranges::find(classes_, name);
    if (found == classes_.end())
      raise(ErrorKind::kData, "{}: not one of the {} classes of the data trained on",
            printable(path), classes_.size());
    const std::vector<std::string> images = images_in(path, other_files_, inner_folders_);
    if (images.empty()) raise(ErrorKind::kData, "{}: no PNG or JPEG image in it", printable(path));
    for (const std::string& image : images)
      files_.push_back({fmt::format("{}/{}", path, image), found - classes_.begin()});
  }
}

std::vector<std::string> ImageFolder::left_out() const {
  std::vector<std::string> out;
  const auto add = [&](const LeftOut& what, std::string_view text) {
    if (what.count > 0)
      out.push_back(fmt::format("{}: {}: {} (the first is {})", printable(folder_), text,
                                what.count, printable(what.first)));
  };
  add(other_files_, "files in class folders, not named .png, .jpg or .jpeg, which are left out");
  add(inner_folders_, "folders inside class folders, whose images are not read");
  add(of_no_class_, "images outside of class folders, which have no class and are left out");
  return out;
}

Raster ImageFolder::image(std::int64_t index) const {
  return read_image(at(index).path, limits_);
}

std::string ImageFolder::digest() const {
  Sha256 names;
  std::vector<std::string> paths;
  for (const File& file : files_) {
    const std::string line = fmt::format("{} {} {}\n", file.label, image_file_size(file.path),
                                         file.path.substr(folder_.size()));
    names.update(line.data(), line.size());
    paths.push_back(file.path);
  }
  return finish_hex(names) + "-" + hash_image_files(paths).hex();
}

std::string ImageFolder::describe() const {
  return fmt::format("{}: {} images of {} classes", printable(folder_), size(), classes_.size());
}

std::string ImageFolder::source(std::int64_t index) const {
  return printable(at(index).path);
}

Raster ImageFiles::image(std::int64_t index) const {
  return read_image(paths_[static_cast<std::size_t>(index)], limits_);
}

std::string ImageFiles::source(std::int64_t index) const {
  return printable(paths_[static_cast<std::size_t>(index)]);
}

std::string ImageFiles::digest() const {
  Sha256 hash;
  for (const std::string& path : paths_) {
    const std::vector<std::uint8_t> bytes = image_bytes(path, limits_);
    hash.update(bytes.data(), bytes.size());
  }
  return finish_hex(hash);
}

std::string ImageFiles::describe() const {
  return fmt::format("{} images", size());
}

std::vector<std::string> images_below(const std::string& folder) {
  std::error_code error;
  if (const fs::file_status status = fs::status(folder, error); !fs::is_directory(status))
    raise(ErrorKind::kData, "{}: {} folder of images", printable(folder),
          fs::exists(status) ? "a file, not a" : "there is no such");
  std::vector<std::string> out;
  add_images_below(folder, out);
  if (out.empty())
    raise(ErrorKind::kData, "{}: no PNG or JPEG image in it or in its folders", printable(folder));
  std::ranges::sort(out);
  return out;
}

std::vector<std::string> image_files(const std::string& folder) {
  std::vector<std::string> out;
  try {
    LeftOut unread;
    for (const std::string& name : classes_in(folder, unread)) {
      const std::string path = fmt::format("{}/{}", folder, name);
      for (const std::string& image : images_in(path, unread, unread))
        out.push_back(fmt::format("{}/{}", path, image));
    }
  } catch (const Error&) {
    return {};  // the error is reported when the folder is opened
  }
  return out;
}

}  // namespace lockstep
