#include "trainer/apps/rate_test.h"

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

constexpr std::size_t kLeastPoints = 10;
constexpr std::size_t kInARow = 5;

}  // namespace

double RateRange::at(std::int64_t step) const {
  return low * std::pow(high / low, static_cast<double>(step) / static_cast<double>(steps - 1));
}

bool RateTest::add(double rate, double loss) {
  points_.push_back({rate, loss});
  if (!std::isfinite(loss)) {
    diverged_ = true;
    return false;
  }
  const std::size_t count = std::min(points_.size(), kInARow);
  double mean = 0;
  for (std::size_t i = points_.size() - count; i < points_.size(); ++i) mean += points_[i].loss;
  mean /= static_cast<double>(count);
  if (points_.size() == 1 || mean < least_) least_ = mean;
  // A mean, as one batch may have a large loss; a loss that may be negative has no such multiple.
  diverged_ = least_ > 0 && points_.size() >= kInARow && mean > kDiverged * least_;
  return !diverged_;
}

std::vector<double> RateTest::smoothed() const {
  std::vector<double> out;
  auto size = static_cast<std::int64_t>(points_.size());
  if (size > 0 && !std::isfinite(points_.back().loss)) --size;
  for (std::int64_t i = 0; i < size; ++i) {
    // As many on both sides: else the means at the ends would be those of other rates.
    const std::int64_t reach = std::min({reach_, i, size - 1 - i});
    double sum = 0;
    for (std::int64_t k = i - reach; k <= i + reach; ++k)
      sum += points_[static_cast<std::size_t>(k)].loss;
    out.push_back(sum / static_cast<double>(2 * reach + 1));
  }
  return out;
}

std::optional<double> RateTest::steepest() const {
  const std::vector<double> loss = smoothed();
  if (loss.size() < kLeastPoints) return std::nullopt;
  const auto lowest = static_cast<std::size_t>(std::ranges::min_element(loss) - loss.begin());
  std::optional<double> out;
  double slope = 0;
  const auto reach = static_cast<std::size_t>(std::max<std::int64_t>(reach_, 1));
  // Differences over the reach of a mean: neighbours share all but two of their losses.
  for (std::size_t i = reach; i + reach < loss.size() && i <= lowest; ++i) {
    const double change = loss[i + reach] - loss[i - reach];
    if (change >= slope) continue;
    slope = change;
    out = points_[i].rate;
  }
  return out;
}

std::optional<double> RateTest::lowest() const {
  const std::vector<double> loss = smoothed();
  if (loss.empty()) return std::nullopt;
  return points_[static_cast<std::size_t>(std::ranges::min_element(loss) - loss.begin())].rate;
}

}  // namespace lockstep
