#include "data/images/synthetic_images.h"

#include "core/base/error.h"
#include "core/base/rng.h"
#include "data/digest.h"

namespace lockstep {

SyntheticImages::SyntheticImages(std::int64_t size, const Shape& shape, std::int64_t classes,
                                 std::uint64_t seed)
    : size_(size), shape_(shape), classes_(classes), seed_(seed) {
  LS_USER_CHECK(size >= 1, "synthetic images: the size must be at least 1, not {}", size);
  LS_USER_CHECK(shape.rank() == 3, "synthetic images: a shape of [channels,height,width], not {}",
                shape.to_string());
  LS_USER_CHECK(classes >= 1, "synthetic images: at least one class, not {}", classes);
}

std::vector<FieldSpec> SyntheticImages::fields() const {
  return {{"image", DType::kF32, shape_}, {"label", DType::kI32, Shape{}}};
}

Sample SyntheticImages::get(std::int64_t index) const {
  check_index(*this, index);
  const auto number = static_cast<std::uint64_t>(index);
  const std::uint32_t word = random_word({seed_, rng_stream("synthetic_labels"), 0, 0}, number);
  const std::uint64_t label = word * static_cast<std::uint64_t>(classes_) >> 32;

  HostTensor image(DType::kF32, shape_);
  const auto out = image.as<float>();
  std::vector<std::uint32_t> pattern(out.size());
  std::vector<std::uint32_t> noise(out.size());
  random_bits({seed_, rng_stream("synthetic_patterns"), label, 0}, 0, pattern);
  random_bits({seed_, rng_stream("synthetic_noise"), number, 0}, 0, noise);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = 0.5F * (uniform_from_bits(pattern[i]) + uniform_from_bits(noise[i]));
  }
  return {{"image", image}, {"label", HostTensor::scalar(static_cast<std::int32_t>(label))}};
}

std::string SyntheticImages::digest() const {
  return sha256_hex(describe());
}

std::string SyntheticImages::describe() const {
  return fmt::format("{} synthetic images {} (classes {}, seed {})", size_, shape_.to_string(),
                     classes_, seed_);
}

}  // namespace lockstep
