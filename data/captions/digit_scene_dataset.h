// Scenes of real digits (digit_scene.h) as samples, made when they are asked for: {"image": f32
// [C,H,W]} and the fields of the caption (caption_fields.h).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/captions/caption_fields.h"
#include "data/captions/digit_scene.h"
#include "data/images/image_array.h"
#include "data/images/image_tensors.h"
#include "data/samples/dataset.h"

namespace lockstep {

/// Images [begin, end) of an array, whose labels are digits.
struct DigitSource {
  std::shared_ptr<const ImageArray> images;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct DigitSceneOptions {
  Shape shape;  ///< [1 or 3 channels, height, width]: black with white digits
  PixelScaling scaling = {};
  std::int64_t digit_px = 20;  ///< to which the digits' images are resized, as Pillow's bilinear
  std::int64_t samples = 1;
  std::uint64_t seed = 0;
  bool fixed = false;  ///< the same scenes in every epoch, others than those trained on
  CaptionFrame frame = {};
  std::int64_t sequence_length = 0;  ///< the maximum; 0: any
};

class DigitSceneDataset final : public Dataset {
 public:
  /// Error kUsage if the canvas has no room for three digits, for channels that are not 1 or 3, and
  /// if the longest caption does not fit the sequence length; kData if the images are not digits;
  /// as ImageTensors.
  DigitSceneDataset(DigitSource digits, TokenizerPtr tokenizer, const DigitSceneOptions& options);

  std::int64_t size() const override { return options_.samples; }
  std::vector<FieldSpec> fields() const override;
  Sample get(std::int64_t index) const override { return draw(index, {}); }
  /// A function of the seed, the epoch and the index; of the seed and the index if it is fixed.
  Sample draw(std::int64_t index, const DrawKey& key) const override;
  /// The scene of that sample, with the boxes and classes of its digits; a source counts in the
  /// whole array of images.
  DigitScene scene(std::int64_t index, const DrawKey& key) const;
  /// If scenes change with the epoch, the length of the longest caption of any.
  std::map<std::string, std::int64_t> lengths(std::int64_t index) const override;
  /// Of the digits' images and the options.
  std::string digest() const override;
  std::string describe() const override;
  std::string source(std::int64_t index) const override;

  /// Mean length of the first scenes' captions with their frame, at most of 256.
  double mean_length() const;

 private:
  std::vector<std::int32_t> targets(const DigitScene& scene) const;
  Raster canvas(const DigitScene& scene) const;

  DigitSource digits_;
  TokenizerPtr tokenizer_;
  DigitSceneOptions options_;
  ImageTensors tensors_;
  std::vector<std::int32_t> classes_;
  std::int64_t longest_ = 0;
};

}  // namespace lockstep
