#include "data/images/soft_labels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/rng.h"

namespace lockstep {
namespace {

/// Random numbers of one sample, uniform in (0, 1).
class Draws {
 public:
  Draws(std::int64_t index, const DrawKey& key)
      : key_{.seed = key.seed,
             .stream = rng_stream("mixed images", static_cast<std::uint64_t>(index)),
             // NOLINTNEXTLINE(bugprone-unchecked-optional-access): who draws is within an epoch
             .step = static_cast<std::uint64_t>(*key.epoch)} {}

  double uniform() { return (static_cast<double>(random_word(key_, next_++)) + 0.5) * 0x1.0p-32; }

 private:
  RngKey key_;
  std::uint64_t next_ = 0;
};

/// The logarithm of a number drawn from Gamma(shape, 1) (G. Marsaglia and W. W. Tsang, "A simple
/// method for generating gamma variables", 2000; for shapes below 1 their section 6). The number
/// itself may be too small for a double.
double log_gamma_draw(double shape, Draws& draws) {
  if (shape < 1) {
    const double larger = log_gamma_draw(shape + 1, draws);
    return larger + std::log(draws.uniform()) / shape;
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double radius = std::sqrt(-2 * std::log(draws.uniform()));
    const double x = radius * std::cos(2 * 3.14159265358979323846 * draws.uniform());
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(draws.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v))
      return std::log(d) + std::log(v);
  }
}

}  // namespace

std::vector<FieldSpec> soft_label_fields(const SoftLabels& labels) {
  std::vector<FieldSpec> out;
  if (labels.smoothing > 0) out.push_back({kLabelSmoothing, DType::kF32, Shape{}});
  if (labels.mixup > 0) {
    out.push_back({kMixLabel, DType::kI32, Shape{}});
    out.push_back({kMixWeight, DType::kF32, Shape{}});
  }
  return out;
}

void add_soft_labels(Sample& sample, const SoftLabels& labels, const DrawKey& key) {
  if (labels.smoothing > 0)
    sample[kLabelSmoothing] =
        HostTensor::scalar(key.epoch ? static_cast<float>(labels.smoothing) : 0.0F);
  if (labels.mixup > 0) {
    sample[kMixLabel] = sample.at("label");
    sample[kMixWeight] = HostTensor::scalar(1.0F);
  }
}

double mix_weight(double alpha, std::int64_t index, const DrawKey& key) {
  LS_CHECK(key.epoch.has_value(), "an evaluation mixes nothing");
  Draws draws(index, key);
  const double a = log_gamma_draw(alpha, draws);
  const double b = log_gamma_draw(alpha, draws);
  if (a == b) return 0.5;  // both may be infinite
  return 1 / (1 + std::exp(b - a));
}

void mix(std::span<Sample> samples, std::span<const std::int64_t> indices, const SoftLabels& labels,
         const DrawKey& key) {
  if (labels.mixup <= 0 || !key.epoch || samples.size() < 2) return;
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): the loop mixes it first
  const Sample first = samples.front();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Sample& sample = samples[i];
    const Sample& other = i + 1 < samples.size() ? samples[i + 1] : first;
    const auto weight = static_cast<float>(mix_weight(labels.mixup, indices[i], key));
    const auto own = std::as_const(sample.at("image")).as<const float>();
    const auto theirs = other.at("image").as<const float>();
    HostTensor image(DType::kF32, sample.at("image").shape());
    std::ranges::transform(own, theirs, image.as<float>().begin(),
                           [weight](float x, float y) { return weight * x + (1 - weight) * y; });
    sample["image"] = std::move(image);
    sample[kMixLabel] = other.at("label");
    sample[kMixWeight] = HostTensor::scalar(weight);
  }
}

}  // namespace lockstep
