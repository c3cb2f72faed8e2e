// Images with captions as samples: {"image": f32 [C,H,W]} and the fields of a caption
// (caption_fields.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "data/captions/caption_fields.h"
#include "data/captions/caption_file.h"
#include "data/images/image_dataset.h"
#include "data/samples/dataset.h"

namespace lockstep {

/// What is a sample.
enum class CaptionUnit : std::uint8_t {
  kImage,    ///< an image with one of its captions, drawn by seed, epoch and sample
  kCaption,  ///< an image and a caption; in the order of images, then of their captions
};

struct CaptionOptions {
  ImageOptions images;  ///< how images become samples; classes and soft labels are not used
  ImageLimits limits = {};
  CaptionFrame frame = {};
  DocumentLimit limit = {};  ///< of the length of a sample
  CaptionUnit unit = CaptionUnit::kImage;
};

class CaptionDataset final : public Dataset {
 public:
  /// Error kData naming the place of a caption that cannot be encoded or is too long, and, with
  /// on_bad_sample error, of an image whose file is missing; kUsage as ImageTensors.
  CaptionDataset(const CaptionFile& file, const Tokenizer& tokenizer, CaptionOptions options);

  std::int64_t size() const override;
  std::vector<FieldSpec> fields() const override;
  /// As in an evaluation; of several captions, the first.
  Sample get(std::int64_t index) const override { return draw(index, {}); }
  /// With kSkip, an image that cannot be read is replaced in training by the first one after it
  /// that can be read and has a caption no longer than the longest one of its own, so that
  /// lengths() stays true; in an evaluation by a black one that does not count. Errors kData name
  /// the place of the image.
  Sample draw(std::int64_t index, const DrawKey& key) const override;
  /// With kImage, the length of the image's longest caption: those of all epochs are at most it.
  std::map<std::string, std::int64_t> lengths(std::int64_t index) const override;
  /// "A-B": A of names and sizes of images and of the captions' tokens, B of the images' bytes as
  /// ImageFolder::digest().
  std::string digest() const override;
  std::string describe() const override;
  std::string source(std::int64_t index) const override;

  /// Mean length of the captions with their frame.
  double mean_length() const;

 private:
  struct Image {
    std::string name;
    std::string path;
    std::string place;
    std::size_t first = 0;  ///< of its captions
    std::size_t count = 0;
    std::int64_t shortest = 0;
    std::int64_t longest = 0;
  };
  void add(const CaptionFile& file, const CaptionedImage& image, const Tokenizer& tokenizer);
  const Image& image(std::int64_t index) const { return images_[static_cast<std::size_t>(index)]; }
  std::int64_t image_of_sample(std::int64_t index) const;
  Raster read(std::int64_t image) const;
  std::int64_t next_no_longer(std::int64_t image, std::int64_t longest) const;
  std::size_t drawn_caption(const Image& image, std::int64_t longest, std::int64_t index,
                            const DrawKey& key) const;

  std::string name_;
  CaptionOptions options_;
  ImageTensors tensors_;
  std::vector<Image> images_;
  std::vector<std::vector<std::int32_t>> captions_;  ///< targets
  std::vector<std::int64_t> image_of_;               ///< of each caption
  std::int64_t longest_ = 1;
};

}  // namespace lockstep
