// Random images with captions of random tokens, for benchmarks and tests: sample i is a function of
// (seed, i).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "data/captions/caption_fields.h"
#include "data/images/synthetic_images.h"
#include "data/samples/dataset.h"
#include "data/samples/length_shares.h"

namespace lockstep {

/// Samples are {"image": f32 [C,H,W] in [0, 1)} and the fields of a caption (caption_fields.h),
/// whose tokens are uniform in [0, vocab_size) without those of the frame.
class SyntheticCaptions final : public Dataset {
 public:
  struct Sizes {
    std::int64_t samples;
    Shape image;  ///< [channels, height, width]
    std::int64_t vocab_size;
    std::vector<LengthShare> lengths;  ///< of both fields: a caption has a token less
    std::int64_t max_length;           ///< longer ones are cut to it; 0: none is
  };

  /// Error kUsage for lengths as problem_of() says, a vocabulary without other tokens than those of
  /// the frame, and sizes below 1.
  SyntheticCaptions(const Sizes& sizes, const CaptionFrame& frame, std::uint64_t seed);

  std::int64_t size() const override { return sizes_.samples; }
  std::vector<FieldSpec> fields() const override;
  Sample get(std::int64_t index) const override;
  std::map<std::string, std::int64_t> lengths(std::int64_t index) const override;
  /// Of the parameters.
  std::string digest() const override;
  std::string describe() const override;

 private:
  std::int64_t length(std::int64_t index) const;

  Sizes sizes_;
  CaptionFrame frame_;
  std::uint64_t seed_;
  std::vector<std::int32_t> special_;  ///< ascending
  SyntheticImages images_;
};

}  // namespace lockstep
