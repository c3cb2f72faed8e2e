// Where labelled images come from: a file that holds all of them, or a file each.
#pragma once

#include <cstdint>
#include <string>

#include "data/images/raster.h"

namespace lockstep {

class ImageSource {
 public:
  virtual ~ImageSource() = default;

  virtual std::int64_t size() const = 0;
  /// Image `index` in [0, size()), of the size that it is stored in. Thread-safe. Error kData
  /// naming the file if it cannot be read.
  virtual Raster image(std::int64_t index) const = 0;
  virtual std::int64_t label(std::int64_t index) const = 0;

  /// SHA-256 (hexadecimal) of labels and images as they are stored, or of what tells them from
  /// others without reading them all; independent of where they are.
  virtual std::string digest() const = 0;
  virtual std::string describe() const = 0;
  /// The file that image `index` comes from, for people: printable().
  virtual std::string source(std::int64_t index) const = 0;
  /// What says its label.
  virtual std::string label_source(std::int64_t index) const { return source(index); }
};

}  // namespace lockstep
