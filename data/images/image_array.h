// Labelled images of one size, held in memory.
#pragma once

#include <string>
#include <vector>

#include "core/base/shape.h"
#include "data/images/image_source.h"

namespace lockstep {

/// The result of reading a file of images.
struct LabelledImages {
  std::string source;  ///< files, for messages
  Shape shape;         ///< [channels, height, width] of one image
  /// Images one after another, each in row-major order of `shape`.
  std::vector<std::uint8_t> pixels = {};
  std::vector<std::int32_t> labels = {};  ///< one per image
  std::string label_source = {};          ///< if they are from another place than `source`
};

class ImageArray final : public ImageSource {
 public:
  explicit ImageArray(LabelledImages images);

  const Shape& shape() const { return images_.shape; }
  std::int64_t size() const override { return static_cast<std::int64_t>(images_.labels.size()); }
  Raster image(std::int64_t index) const override;
  std::int64_t label(std::int64_t index) const override {
    return images_.labels[static_cast<std::size_t>(index)];
  }
  std::string digest() const override;
  std::string describe() const override;
  std::string source(std::int64_t /*index*/) const override { return images_.source; }
  std::string label_source(std::int64_t /*index*/) const override {
    return images_.label_source.empty() ? images_.source : images_.label_source;
  }

 private:
  LabelledImages images_;
};

}  // namespace lockstep
