#include "data/images/synthetic_images.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "data/samples/digest.h"

namespace lockstep {
namespace {

/// Number of places in the noise at which the noise of an image can start.
constexpr std::int64_t kNoiseStarts = 1 << 16;

/// Numbers that patterns are made of. The patterns of many classes of large images overlap, each
/// with its own start, so that memory does not grow with the product of both.
constexpr std::int64_t kPatternNumbers = 1 << 22;

void check_size(std::int64_t size) {
  LS_USER_CHECK(size >= 1, "synthetic images: the size must be at least 1, not {}", size);
}

/// Numbers in [0, 0.5).
std::vector<float> drawn(std::uint64_t seed, std::string_view stream, std::int64_t count) {
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(count));
  random_bits({seed, rng_stream(stream), 0, 0}, 0, bits);
  std::vector<float> out(bits.size());
  for (std::size_t i = 0; i < bits.size(); ++i) out[i] = 0.5F * uniform_from_bits(bits[i]);
  return out;
}

}  // namespace

SyntheticImages::SyntheticImages(std::int64_t size, const Shape& shape, std::int64_t classes,
                                 std::uint64_t seed)
    : size_(size), shape_(shape), classes_(classes), seed_(seed), pattern_seed_(seed) {
  check_size(size);
  LS_USER_CHECK(shape.rank() == 3, "synthetic images: a shape of [channels,height,width], not {}",
                shape.to_string());
  LS_USER_CHECK(classes >= 1, "synthetic images: at least one class, not {}", classes);
  const std::int64_t elements = shape.elements();
  pattern_step_ =
      std::clamp<std::int64_t>(kPatternNumbers / classes, 1, std::max<std::int64_t>(elements, 1));
  patterns_ = std::make_shared<const std::vector<float>>(
      drawn(seed, "synthetic_patterns", (classes - 1) * pattern_step_ + elements));
  noise_ = drawn(seed, "synthetic_noise", elements + kNoiseStarts);
}

SyntheticImages SyntheticImages::others(std::int64_t size, std::uint64_t seed) const {
  check_size(size);
  SyntheticImages out = *this;
  out.size_ = size;
  out.seed_ = seed;
  out.noise_ = drawn(seed, "synthetic_noise", shape_.elements() + kNoiseStarts);
  return out;
}

std::vector<FieldSpec> SyntheticImages::fields() const {
  return {{"image", DType::kF32, shape_}, {"label", DType::kI32, Shape{}}};
}

Sample SyntheticImages::get(std::int64_t index) const {
  check_index(*this, index);
  const auto number = static_cast<std::uint64_t>(index);
  const std::uint32_t word = random_word({seed_, rng_stream("synthetic_labels"), 0, 0}, number);
  const std::uint64_t label = word * static_cast<std::uint64_t>(classes_) >> 32;

  const std::uint32_t start =
      random_word({seed_, rng_stream("synthetic_noise_starts"), 0, 0}, number) %
      static_cast<std::uint32_t>(kNoiseStarts);

  HostTensor image(DType::kF32, shape_);
  const auto out = image.as<float>();
  const float* pattern = patterns_->data() + label * static_cast<std::uint64_t>(pattern_step_);
  const float* noise = noise_.data() + start;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = pattern[i] + noise[i];
  return {{"image", image}, {"label", HostTensor::scalar(static_cast<std::int32_t>(label))}};
}

std::string SyntheticImages::digest() const {
  return sha256_hex(describe());
}

std::string SyntheticImages::describe() const {
  return fmt::format("{} synthetic images {} (classes {}, seed {}{})", size_, shape_.to_string(),
                     classes_, seed_,
                     seed_ == pattern_seed_ ? "" : fmt::format(", patterns {}", pattern_seed_));
}

}  // namespace lockstep
