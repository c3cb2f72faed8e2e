// Labelled images in files: a folder for each class, as torchvision's ImageFolder has them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "data/images/image_source.h"

namespace lockstep {

/// What an ImageFolder does not read.
struct LeftOut {
  std::int64_t count = 0;
  std::string first = {};  ///< path of the one whose name sorts first

  void add(const std::string& path);
};

/// Classes are the folders in it, sorted by name (bytes, not the language's order); their images
/// are the .png, .jpg and .jpeg files in them, sorted likewise. What is hidden, of another kind,
/// deeper, or in no class is left out; left_out() counts the last three.
class ImageFolder final : public ImageSource {
 public:
  /// `classes` that labels count, those of the data that is trained on; empty: the folder's own.
  /// Error kData naming the folder if it cannot be read, has no class, one that is none of
  /// `classes`, one without images, or a link for a class that leads nowhere.
  explicit ImageFolder(const std::string& folder, std::vector<std::string> classes = {},
                       const ImageLimits& limits = {});

  const std::vector<std::string>& classes() const { return classes_; }
  /// What is not read, for people: nothing, or a sentence each for files of other names and for
  /// folders in those of classes, and for images beside these, with their number and the first one.
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

/// Images in files of their own, whose labels are not known: all are 0.
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

/// The files that an ImageFolder of it reads, in its order; nothing if it cannot be read.
std::vector<std::string> image_files(const std::string& folder);

}  // namespace lockstep
