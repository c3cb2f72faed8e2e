// The learning-rate range test (Smith, "Cyclical learning rates for training neural networks",
// 2015/2017): the rate grows by the same factor in each step, and the loss is watched. Where it
// falls fastest, a rate is large enough to learn and still small enough not to diverge.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace lockstep {

/// The rates of a range test, from low to high by the same factor in each of its steps.
struct RateRange {
  double low = 1e-7;         ///< > 0
  double high = 1;           ///< > low
  std::int64_t steps = 100;  ///< >= 2

  double at(std::int64_t step) const;  ///< low * (high / low)^(step / (steps - 1))
};

struct RateTestPoint {
  double rate = 0;
  double loss = 0;  ///< before the step of that rate; not finite at the last point at most
};

class RateTest {
 public:
  /// The loss is this many times its lowest so far: it diverges.
  static constexpr double kDiverged = 4;

  /// `steps`: that are planned. A mean is over a twentieth of them before and behind a point.
  explicit RateTest(std::int64_t steps) : reach_(steps / 20) {}

  /// Adds a step. False if the loss has diverged: no more steps are needed.
  bool add(double rate, double loss);

  const std::vector<RateTestPoint>& points() const { return points_; }
  bool has_diverged() const { return diverged_; }
  /// Means of the loss around each point, without the one that is not finite. Unlike a running mean
  /// they do not lag behind, which would suggest rates that are too high.
  std::vector<double> smoothed() const;

  /// The rate at which the smoothed loss falls most with the logarithm of the rate, of those before
  /// its lowest value (the rule of fastai's lr_find, "steepest"). Nothing if it never falls, or
  /// there are fewer than ten points.
  std::optional<double> steepest() const;
  /// The rate of the lowest smoothed loss.
  std::optional<double> lowest() const;

 private:
  std::int64_t reach_;
  std::vector<RateTestPoint> points_;
  double least_ = 0;  ///< mean of a few losses in a row, the lowest so far
  bool diverged_ = false;
};

}  // namespace lockstep
