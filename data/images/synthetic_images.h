// Random labelled images, for benchmarks and tests: image i is a pure function of (seed, i).
#pragma once

#include <memory>
#include <vector>

#include "data/samples/dataset.h"

namespace lockstep {

/// Sample i is {"image": f32 [C,H,W] in [0, 1), "label": i32 [] in [0, classes)}. An image is the
/// mean of its class's random pattern and noise, so that there is something to learn. The noise of
/// each image is a part of one long array of random numbers, so making an image costs no more than
/// copying it, and a benchmark measures the training.
class SyntheticImages final : public Dataset {
 public:
  SyntheticImages(std::int64_t size, const Shape& shape, std::int64_t classes, std::uint64_t seed);
  /// Other images of the same classes, for validation: what a model learns from one applies to
  /// both.
  SyntheticImages others(std::int64_t size, std::uint64_t seed) const;

  std::int64_t size() const override { return size_; }
  std::vector<FieldSpec> fields() const override;
  Sample get(std::int64_t index) const override;
  /// Of the parameters.
  std::string digest() const override;
  std::string describe() const override;
  std::string source(std::int64_t) const override { return {}; }

 private:
  std::int64_t size_;
  Shape shape_;
  std::int64_t classes_;
  std::uint64_t seed_;
  std::uint64_t pattern_seed_;
  std::shared_ptr<const std::vector<float>> patterns_;  ///< of class c, from c * pattern_step_ on
  std::int64_t pattern_step_ = 1;
  std::vector<float> noise_;  ///< halved
};

}  // namespace lockstep
