// Labelled images in files: a folder for each class, as in torchvision's ImageFolder.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "data/images/image_source.h"

namespace lockstep {

/// Files or folders that an ImageFolder does not read.
struct LeftOut {
  std::int64_t count = 0;
  std::string first = {};  ///< path of the one whose name sorts first

  void add(const std::string& path);
};

/// Classes are the subfolders, sorted by name (by bytes, not by the language's order). Their images
/// are the .png, .jpg and .jpeg files in them, sorted likewise. Entries that are hidden, of another
/// kind, deeper, or in no class are left out; left_out() counts the last three.
class ImageFolder final : public ImageSource {
 public:
  /// `classes`: the classes that labels count, those of the training data; empty: the folder's own.
  /// Error kData naming the folder if it cannot be read, has no class, has a class that is not in
  /// `classes` or has no images, or if a link for a class leads nowhere.
  explicit ImageFolder(const std::string& folder, std::vector<std::string> classes = {},
                       const ImageLimits& limits = {});

  const std::vector<std::string>& classes() const { return classes_; }
  /// Sentences for users about files that are not read: one for files of other names, one for
  /// folders inside class folders, one for images outside of them, with their number and the first
  /// one.
  std::vector<std::string> left_out() const;
  std::int64_t size() const override { return static_cast<std::int64_t>(files_.size()); }
  Raster image(std::int64_t index) const override;
  std::int64_t label(std::int64_t index) const override { return at(index).label; }
  /// "A-B": A of the labels, names and sizes of all files (all that it once was), B of their
  /// bytes: of all up to HashLimits, of more probes as ranks compare
  /// (trainer/job/data_agreement.h).
  std::string digest() const override;
  std::string describe() const override;
  std::string source(std::int64_t index) const override;

 private:
  struct File {
    std::string path;
    std::int64_t label = 0;
  };
  const File& at(std::int64_t index) const { return files_[static_cast<std::size_t>(index)]; }

  std::string folder_;
  ImageLimits limits_;
  LeftOut other_files_;
  LeftOut inner_folders_;
  LeftOut of_no_class_;
  std::vector<std::string> classes_;
  std::vector<File> files_;
};

/// Images in separate files, without known labels: all are 0.
class ImageFiles final : public ImageSource {
 public:
  explicit ImageFiles(std::vector<std::string> paths, const ImageLimits& limits = {})
      : paths_(std::move(paths)), limits_(limits) {}

  std::int64_t size() const override { return static_cast<std::int64_t>(paths_.size()); }
  Raster image(std::int64_t index) const override;
  std::int64_t label(std::int64_t /*index*/) const override { return 0; }
  std::string digest() const override;
  std::string describe() const override;
  std::string source(std::int64_t index) const override;

 private:
  std::vector<std::string> paths_;
  ImageLimits limits_;
};

/// The images in a folder, at any depth, sorted by path: files that are named as is_image_name()
/// asks, but hidden ones and those of hidden folders. Links to folders are not followed: they may
/// lead back. Error kData if there is none, or naming a folder that cannot be read.
std::vector<std::string> images_below(const std::string& folder);

/// The files that an ImageFolder of `folder` reads, in its order; nothing if it cannot be read.
std::vector<std::string> image_files(const std::string& folder);

}  // namespace lockstep
