#include "trainer/hub/grow_positions.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr std::int64_t kClassTokens = 1;
constexpr double kCubicA = -0.75;  // of Keys' kernel; PyTorch's

/// A sum of `from` positions, with weights.
struct Blend {
  std::vector<std::int64_t> at;
  std::vector<double> weights;
};

/// Where the center of position `i` of `to` lies among `from`, counted from center to center.
double center(std::int64_t i, std::int64_t from, std::int64_t to) {
  return (static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5;
}

Blend linear(std::int64_t i, std::int64_t from, std::int64_t to) {
  const double x = std::clamp(center(i, from, to), 0.0, static_cast<double>(from - 1));
  const auto low = static_cast<std::int64_t>(x);
  const double part = x - static_cast<double>(low);
  return {.at = {low, std::min(low + 1, from - 1)}, .weights = {1 - part, part}};
}

double cubic_weight(double distance) {
  const double x = std::abs(distance);
  if (x <= 1) return ((kCubicA + 2) * x - (kCubicA + 3)) * x * x + 1;
  return ((kCubicA * x - 5 * kCubicA) * x + 8 * kCubicA) * x - 4 * kCubicA;
}

Blend cubic(std::int64_t i, std::int64_t from, std::int64_t to) {
  const double x = center(i, from, to);
  const double low = std::floor(x);
  Blend out;
  for (int k = -1; k <= 2; ++k) {
    out.at.push_back(std::clamp<std::int64_t>(static_cast<std::int64_t>(low) + k, 0, from - 1));
    out.weights.push_back(cubic_weight(x - low - k));
  }
  return out;
}

std::int64_t side_of(std::int64_t patches, const char* whose) {
  const auto side = static_cast<std::int64_t>(std::llround(std::sqrt(patches)));
  LS_USER_CHECK(side > 0 && side * side == patches,
                "'model.grow_positions' needs a square of patches, and {} {} positions are the "
                "class token and {} patches",
                whose, patches + kClassTokens, patches);
  return side;
}

}  // namespace

HostTensor grow_text_positions(const HostTensor& from, std::int64_t positions, GrowPositions how) {
  const std::int64_t count = from.shape()[0], width = from.shape()[1];
  HostTensor out(DType::kF32, Shape{positions, width});
  const auto source = from.as<float>();
  const auto target = out.as<float>();
  for (std::int64_t i = 0; i < positions; ++i) {
    const Blend blend =
        how == GrowPositions::kInterpolate ? linear(i, count, positions) : Blend{{i % count}, {1}};
    for (std::int64_t c = 0; c < width; ++c) {
      double sum = 0;
      for (std::size_t k = 0; k < blend.at.size(); ++k)
        sum += blend.weights[k] * source[static_cast<std::size_t>(blend.at[k] * width + c)];
      target[static_cast<std::size_t>(i * width + c)] = static_cast<float>(sum);
    }
  }
  return out;
}

HostTensor grow_image_positions(const HostTensor& from, std::int64_t positions) {
  const std::int64_t width = from.shape()[2];
  const std::int64_t old_side = side_of(from.shape()[1] - kClassTokens, "the source's");
  const std::int64_t side = side_of(positions - kClassTokens, "the model's");
  HostTensor out(DType::kF32, Shape{1, positions, width});
  const auto source = from.as<float>();
  const auto target = out.as<float>();
  std::copy_n(source.begin(), kClassTokens * width, target.begin());
  for (std::int64_t y = 0; y < side; ++y) {
    const Blend rows = cubic(y, old_side, side);
    for (std::int64_t x = 0; x < side; ++x) {
      const Blend columns = cubic(x, old_side, side);
      for (std::int64_t c = 0; c < width; ++c) {
        double sum = 0;
        for (std::size_t r = 0; r < rows.at.size(); ++r)
          for (std::size_t k = 0; k < columns.at.size(); ++k) {
            const std::int64_t patch = rows.at[r] * old_side + columns.at[k];
            sum += rows.weights[r] * columns.weights[k] *
                   source[static_cast<std::size_t>((kClassTokens + patch) * width + c)];
          }
        target[static_cast<std::size_t>((kClassTokens + y * side + x) * width + c)] =
            static_cast<float>(sum);
      }
    }
  }
  return out;
}

}  // namespace lockstep
