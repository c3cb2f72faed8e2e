#include "core/cost/given_steps.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr double kEightyPercent = 1.2816;  ///< standard deviations of a normal distribution
constexpr double kLogStep = 1e-3;          ///< of the derivatives by constants

/// The covariance of the constants times a vector. It is stored as its lower triangle.
std::vector<double> times_covariance(const FittedConstants& fitted, std::span<const double> by) {
  std::vector<double> out(by.size());
  auto entry = fitted.covariance.begin();
  for (std::size_t i = 0; i < by.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j, ++entry) {
      out[i] += *entry * by[j];
      if (j < i) out[j] += *entry * by[i];
    }
  return out;
}

double own_variance(const FittedConstants& fitted, const StepTraits& traits) {
  const double deviation = fitted.residual.deviation(traits);
  return deviation * deviation;
}

double dot_product(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// A symmetric positive definite matrix as the product of a lower triangle and its transpose.
class Cholesky {
 public:
  explicit Cholesky(std::vector<std::vector<double>> rows) : rows_(std::move(rows)) {
    for (std::size_t i = 0; i < rows_.size(); ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        const double left = rows_[i][j] - dot_product({rows_[i].data(), j}, {rows_[j].data(), j});
        LS_CHECK(i != j || left > 0, "a covariance is not positive: {}", left);
        rows_[i][j] = i == j ? std::sqrt(left) : left / rows_[j][j];
      }
  }

  /// The triangle's inverse times a vector: the inverse matrix is the square of it.
  std::vector<double> half_solve(std::vector<double> of) const {
    for (std::size_t i = 0; i < of.size(); ++i)
      of[i] = (of[i] - dot_product({rows_[i].data(), i}, {of.data(), i})) / rows_[i][i];
    return of;
  }

 private:
  std::vector<std::vector<double>> rows_;
};

}  // namespace

ForeseenTime foreseen_time(const std::function<double(const CostConstants&)>& seconds,
                           const StepTraits& traits, const FittedConstants& fitted) {
  const std::vector<double> values = values_of(fitted.constants);
  ForeseenTime out{seconds(fitted.constants), std::vector<double>(values.size()), traits};
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::vector<double> moved = values;
    moved[i] *= std::exp(kLogStep);
    out.slopes[i] = std::log(seconds(constants_from(moved)) / out.seconds) / kLogStep;
  }
  return out;
}

ForeseenTime foreseen_time(const StepWork& work, const DeviceProfile& device,
                           const Deployment& deployment, const FittedConstants& fitted) {
  return foreseen_time(
      [&](const CostConstants& constants) {
        return step_time(work, device, deployment, constants).seconds;
      },
      traits_of(work, device, deployment), fitted);
}

Correction correct(const ForeseenTime& asked, std::span<const GivenStep> given,
                   const FittedConstants& fitted) {
  const std::vector<double> moved = times_covariance(fitted, asked.slopes);
  double variance = dot_product(asked.slopes, moved) + own_variance(fitted, asked.traits);
  double log_factor = 0;
  if (!given.empty()) {
    std::vector<std::vector<double>> covariances(given.size());
    std::vector<double> with_asked, errors;
    for (std::size_t i = 0; i < given.size(); ++i) {
      const ForeseenTime& a = given[i].foreseen;
      const std::vector<double> a_moved = times_covariance(fitted, a.slopes);
      for (std::size_t j = 0; j < i; ++j) {
        const ForeseenTime& b = given[j].foreseen;
        covariances[i].push_back(dot_product(a_moved, b.slopes) +
                                 fitted.residual.covariance(a.traits, b.traits));
      }
      covariances[i].push_back(dot_product(a_moved, a.slopes) + own_variance(fitted, a.traits));
      with_asked.push_back(dot_product(moved, a.slopes) +
                           fitted.residual.covariance(a.traits, asked.traits));
      errors.push_back(std::log(given[i].seconds / a.seconds));
    }
    const Cholesky triangle(std::move(covariances));
    const std::vector<double> weights = triangle.half_solve(std::move(with_asked));
    log_factor = dot_product(weights, triangle.half_solve(std::move(errors)));
    variance -= dot_product(weights, weights);
  }
  return {std::exp(log_factor), std::exp(kEightyPercent * std::sqrt(variance))};
}

}  // namespace lockstep
