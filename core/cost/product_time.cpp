#include "core/cost/product_time.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr double kTile = 128;        ///< rows and columns of a result that a unit computes at once
constexpr double kPadding = 32;      ///< of the dimensions of tiles
constexpr double kSplitDepth = 512;  ///< the least k of a part if units would be idle
/// Fractions of the data sheet's that the fit takes as the usual ones: constants are factors on
/// them.
constexpr double kUsualMatmul = 0.85;
constexpr double kUsualMemory = 0.88;

double rounded_up(double value, double to) {
  return std::ceil(value / to - 1e-9) * to;
}

}  // namespace

DeviceRates::DeviceRates(const DeviceProfile& device, const Deployment& deployment,
                         const CostConstants& constants)
    : deployment_(deployment), constants_(constants) {
  const auto peak = device.peak(deployment.math);
  LS_USER_CHECK(peak.has_value(), "device {} has no {}: its profile gives no peak of it",
                device.name, name_of(deployment.math));
  peak_ = *peak;
  bandwidth_ = device.memory_gb_per_s.value * 1e9;
  const auto& figure = device.peak_tflops[static_cast<std::size_t>(deployment.math)];
  estimated_ = device.memory_gb_per_s.is_estimate() || (figure && figure->is_estimate());
  units_ = device.compute_units.value;
  tensor_ = device.has_tensor_units(deployment.math);
  product_fraction_ =
      (tensor_ ? constants.tensor_fraction : constants.vector_fraction) *
      (deployment.math == MathType::kTf32 ? constants.tf32_fraction : 1) *
      (tensor_ ? std::pow(device.matmul_fraction.value / kUsualMatmul, constants.matmul_power)
               : 1) *
      constants.product[static_cast<std::size_t>(deployment.execution)];
  memory_fraction_ = device.memory_fraction.value / kUsualMemory;
}

KernelTime DeviceRates::with_ideal(double seconds, double ideal) const {
  const double within = std::min(ideal, seconds);
  return estimated_ ? KernelTime{seconds, 0, within} : KernelTime{seconds, within, 0};
}

KernelTime DeviceRates::product(const KernelWork& work) const {
  const auto [m, n, k] = std::tuple(static_cast<double>(work.m), static_cast<double>(work.n),
                                    static_cast<double>(work.k));
  const double tiles =
      static_cast<double>(work.batch) * std::ceil(m / kTile) * std::ceil(n / kTile);
  const double split = std::clamp(units_ / tiles, 1.0, std::max(k / kSplitDepth, 1.0));
  const double waves = tiles * split / units_;
  const double full = 1 - constants_.wave_weight * (1 - waves / std::ceil(waves - 1e-9));
  const double unpadded = m * n / (rounded_up(m, kPadding) * rounded_up(n, kPadding));
  const bool convolution = work.kind == KernelKind::kConvolution;
  const double half = convolution ? constants_.convolution_depth : constants_.product_depth;
  const double depth = k / split / (k / split + half);
  const double kind = !convolution ? 1
                      : tensor_    ? constants_.convolution_tensor
                                   : constants_.convolution_vector;
  const double fraction = product_fraction_ * kind * std::max(full, 0.05) * unpadded * depth;
  const double count = static_cast<double>(work.count);
  const double arithmetic = work.flops / (peak_ * fraction);
  const double traffic =
      work.bytes *
      (convolution && deployment_.channels_first && tensor_ ? 1 + constants_.channels_first : 1);
  const double memory = traffic / (bandwidth_ * memory_fraction_ * constants_.product_memory);
  const double r = constants_.roof_sharpness;
  return with_ideal(count * std::pow(std::pow(arithmetic, r) + std::pow(memory, r), 1 / r),
                    count * std::max(work.flops / peak_, work.bytes / bandwidth_));
}

KernelTime DeviceRates::attention(const KernelWork& work) const {
  const double count = static_cast<double>(work.count);
  const double ideal = count * std::max(work.flops / peak_, work.bytes / bandwidth_);
  if (deployment_.fused_attention) {
    const double fraction =
        constants_.flash_fraction * (work.gradient ? constants_.flash_gradient : 1);
    return with_ideal(std::max(count * work.flops / (peak_ * fraction), ideal), ideal);
  }
  // Products of all scores, of which fused attention leaves out those that a causal mask hides;
  // the gradient computes the scores of the forward pass once more only when it is fused.
  const double scores =
      static_cast<double>(work.batch) * static_cast<double>(work.m) * static_cast<double>(work.n);
  const double products = work.gradient ? 4 : 2;
  const double flops = products * 2 * scores * static_cast<double>(work.k);
  const double unfused = constants_.unfused[static_cast<std::size_t>(deployment_.execution)];
  const double left = constants_.score_least + (1 - constants_.score_least) * unfused;
  const double passes = constants_.score_passes / 2 * left;  // of which the gradient has the others
  const double bytes = scores * stored_bytes(deployment_.math) * passes;
  return with_ideal(count * (flops / (peak_ * product_fraction_ * constants_.score_products) +
                             streaming(bytes).seconds),
                    ideal);
}

KernelTime DeviceRates::streaming(double bytes) const {
  return with_ideal(bytes / (bandwidth_ * memory_fraction_ * constants_.stream_memory),
                    bytes / bandwidth_);
}

}  // namespace lockstep
