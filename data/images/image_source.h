// A source of labelled images: one file that holds all of them, or one file for each.
#pragma once

#include <cstdint>
#include <string>

#include "data/images/raster.h"

namespace lockstep {

class ImageSource {
 public:
  virtual ~ImageSource() = default;

  virtual std::int64_t size() const = 0;
  /// Image `index` in [0, size()), of its stored size. Thread-safe. Error kData naming the file if
  /// it cannot be read.
  virtual Raster image(std::int64_t index) const = 0;
  virtual std::int64_t label(std::int64_t index) const = 0;

  /// SHA-256 (hexadecimal) of the stored labels and images, or of enough of them to identify the
  /// source without reading everything; independent of their location.
  virtual std::string digest() const = 0;
  virtual std::string describe() const = 0;
  /// The file that image `index` comes from, for users: printable().
  virtual std::string source(std::int64_t index) const = 0;
  /// The place that its label comes from.
  virtual std::string label_source(std::int64_t index) const { return source(index); }
};

}  // namespace lockstep
