#include "data/images/resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr int kPrecision = 22;  ///< fraction bits of a weight
constexpr std::int32_t kHalf = 1 << (kPrecision - 1);

double triangle(double x) {
  return std::max(1 - std::abs(x), 0.0);
}

/// Keys' cubic convolution with a = -1/2 ("Cubic convolution interpolation for digital image
/// processing", 1981).
double cubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0;
}

/// For each position of a resampled line: the first source position, and the weights.
struct Weights {
  std::int64_t taps = 0;  ///< weights per position; unused ones are 0
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> count;
  std::vector<std::int32_t> values;  ///< [positions, taps]
};

/// Weights of `count` positions, from position `from` on.
Weights weights_of(std::int64_t size, double begin, double end, std::int64_t positions,
                   std::int64_t from, std::int64_t count, Interpolation interpolation) {
  const auto filter = interpolation == Interpolation::kBilinear ? triangle : cubic;
  const double scale = (end - begin) / static_cast<double>(positions);
  const double stretch = std::max(scale, 1.0);
  const double support = (interpolation == Interpolation::kBilinear ? 1.0 : 2.0) * stretch;
  Weights out;
  out.taps = 2 * static_cast<std::int64_t>(std::ceil(support)) + 1;
  out.values.resize(static_cast<std::size_t>(count * out.taps));
  std::vector<double> exact(static_cast<std::size_t>(out.taps));
  for (std::int64_t i = 0; i < count; ++i) {
    const double center = begin + (static_cast<double>(from + i) + 0.5) * scale;
    // NOLINTBEGIN(bugprone-incorrect-roundings): as PIL computes them
    const auto first = std::max<std::int64_t>(static_cast<std::int64_t>(center - support + 0.5), 0);
    const auto last = std::min(static_cast<std::int64_t>(center + support + 0.5), size);
    // NOLINTEND(bugprone-incorrect-roundings)
    double sum = 0;
    for (std::int64_t j = first; j < last; ++j)
      sum += exact[static_cast<std::size_t>(j - first)] =
          filter((static_cast<double>(j) - center + 0.5) * (1.0 / stretch));
    for (std::int64_t j = 0; j < last - first; ++j) {
      const double weight = exact[static_cast<std::size_t>(j)] * (1.0 / sum) * (1 << kPrecision);
      out.values[static_cast<std::size_t>(i * out.taps + j)] =
          static_cast<std::int32_t>(weight < 0 ? weight - 0.5 : weight + 0.5);
    }
    out.first.push_back(first);
    out.count.push_back(last - first);
  }
  return out;
}

std::uint8_t rounded(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kPrecision, 0, 255));
}

/// One row: `to` has a pixel for each position.
void resample_row(const Weights& weights, const std::uint8_t* row, std::int64_t channels,
                  std::uint8_t* to) {
  for (std::size_t x = 0; x < weights.first.size(); ++x) {
    const std::int32_t* values =
        weights.values.data() + static_cast<std::int64_t>(x) * weights.taps;
    const std::uint8_t* from = row + weights.first[x] * channels;
    for (std::int64_t c = 0; c < channels; ++c) {
      std::int32_t sum = kHalf;
      for (std::int64_t j = 0; j < weights.count[x]; ++j) sum += values[j] * from[j * channels + c];
      *to++ = rounded(sum);
    }
  }
}

/// Rows of `bytes` each: `to` has one for each position.
void resample_column(const Weights& weights, const std::uint8_t* rows, std::int64_t bytes,
                     std::uint8_t* to) {
  std::vector<std::int32_t> sums(static_cast<std::size_t>(bytes));
  for (std::size_t y = 0; y < weights.first.size(); ++y) {
    const std::int32_t* values =
        weights.values.data() + static_cast<std::int64_t>(y) * weights.taps;
    std::ranges::fill(sums, kHalf);
    for (std::int64_t j = 0; j < weights.count[y]; ++j) {
      const std::uint8_t* from = rows + (weights.first[y] + j) * bytes;
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += values[j] * from[i];
    }
    for (const std::int32_t sum : sums) *to++ = rounded(sum);
  }
}

}  // namespace

Raster resize(const Raster& image, const ImageBox& box, std::int64_t height, std::int64_t width,
              Interpolation interpolation) {
  return resize(image, box, height, width, interpolation, {.height = height, .width = width});
}

Raster resize(const Raster& image, const ImageBox& box, std::int64_t height, std::int64_t width,
              Interpolation interpolation, const PixelBox& part) {
  LS_CHECK(height > 0 && width > 0 && box.left >= 0 && box.top >= 0 && box.left < box.right &&
               box.top < box.bottom && box.right <= static_cast<double>(image.width) &&
               box.bottom <= static_cast<double>(image.height),
           "{} x {} pixels of the box {}, {} to {}, {} of an image of {} x {}", width, height,
           box.left, box.top, box.right, box.bottom, image.width, image.height);
  LS_CHECK(part.height > 0 && part.width > 0 && part.top >= 0 && part.left >= 0 &&
               part.top + part.height <= height && part.left + part.width <= width,
           "{} x {} pixels from {}, {} on, of {} x {}", part.width, part.height, part.left,
           part.top, width, height);
  const Weights across =
      weights_of(image.width, box.left, box.right, width, part.left, part.width, interpolation);
  Weights down =
      weights_of(image.height, box.top, box.bottom, height, part.top, part.height, interpolation);
  // Rows that the result does not use are left out.
  const std::int64_t top = down.first.front();
  const std::int64_t rows = down.first.back() + down.count.back() - top;
  for (std::int64_t& first : down.first) first -= top;
  const std::int64_t row = part.width * image.channels;
  std::vector<std::uint8_t> narrow(static_cast<std::size_t>(rows * row));
  for (std::int64_t y = 0; y < rows; ++y)
    resample_row(across, image.pixels.data() + (top + y) * image.width * image.channels,
                 image.channels, narrow.data() + y * row);
  Raster out{part.height, part.width, image.channels,
             std::vector<std::uint8_t>(static_cast<std::size_t>(part.height * row))};
  resample_column(down, narrow.data(), row, out.pixels.data());
  return out;
}

}  // namespace lockstep
