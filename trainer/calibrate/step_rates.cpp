#include "trainer/calibrate/step_rates.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/error.h"

namespace lockstep {
namespace {

constexpr double kMilli = 1e-3;

WorkClass class_named(std::string_view name) {
  for (int i = 0; i < kWorkClassCount; ++i)
    if (name_of(static_cast<WorkClass>(i)) == name) return static_cast<WorkClass>(i);
  LS_CHECK(false, "a ledger has no class '{}'", name);
}

/// The weighted mean of logarithms.
class MeanFactor {
 public:
  void add(double factor, double weight) {
    sum_ += weight * std::log(factor);
    weight_ += weight;
  }
  double value() const { return std::exp(sum_ / weight_); }

 private:
  double sum_ = 0;
  double weight_ = 0;
};

/// The steps' costs by the limits alone.
std::vector<StepCost> bounds_of(std::span<const MeasuredStep> steps, MachineLimits limits) {
  limits.steps = {};
  std::vector<StepCost> out;
  out.reserve(steps.size());
  for (const MeasuredStep& step : steps)
    out.push_back(step_cost(*step.step, limits, step.placement));
  return out;
}

std::vector<WorkFactor> work_factors(std::span<const MeasuredStep> steps,
                                     std::span<const StepCost> bounds) {
  using Key = std::tuple<int, DType, int, int>;
  std::map<Key, MeanFactor> means;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const StepPlacement& placement = steps[s].placement;
    for (int i = 0; i < kWorkClassCount; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double bound = bounds[s].lower_bounds[at], taken = steps[s].work[at];
      if (bound > 0 && taken > 0)
        means[{i, placement.math, placement.cores.threads, placement.cores.ranks}].add(
            taken / bound, taken / steps[s].seconds);
    }
  }
  std::vector<WorkFactor> out;
  out.reserve(means.size());
  for (const auto& [key, mean] : means) {
    const auto& [work, math, threads, ranks] = key;
    out.push_back(
        {std::string(name_of(static_cast<WorkClass>(work))), math, {threads, ranks}, mean.value()});
  }
  return out;
}

double sums_rate(std::span<const MeasuredStep> steps) {
  double bytes = 0, seconds = 0;
  for (const MeasuredStep& step : steps) {
    if (step.placement.micro_batches <= 1) continue;
    bytes += static_cast<double>((step.placement.micro_batches - 1) * step.step->reduction.bytes);
    seconds += step.sums;
  }
  return seconds > 0 ? bytes / seconds : 0;
}

/// What commands, sums and the all-reduce leave of a step, as node_seconds * nodes + waits *
/// commands: least squares of the relative errors of whole steps, neither of them negative.
StepOverhead overhead_of(std::span<const MeasuredStep> steps, std::span<const StepCost> bounds,
                         double sums_bytes_per_s, BusyCores cores) {
  double aa = 0, ab = 0, bb = 0, ar = 0, br = 0;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const MeasuredStep& step = steps[s];
    if (step.placement.cores != cores) continue;
    const double sums = step.placement.micro_batches > 1 && sums_bytes_per_s > 0 ? step.sums : 0;
    const double rest = step.seconds - step.commands() - sums - bounds[s].all_reduce;
    const double a = static_cast<double>(step.step->step.nodes.size()) / step.seconds,
                 b = step.commands() / step.seconds, r = rest / step.seconds;
    aa += a * a, ab += a * b, bb += b * b, ar += a * r, br += b * r;
  }
  StepOverhead out{cores};
  const double determinant = aa * bb - ab * ab;
  constexpr double kSingular = 1e-9;
  if (determinant > kSingular * aa * bb) {
    out.node_seconds = (ar * bb - br * ab) / determinant;
    out.waits = (br * aa - ar * ab) / determinant;
  }
  if (determinant <= kSingular * aa * bb || out.node_seconds < 0) {
    out.node_seconds = 0;
    out.waits = br / bb;
  } else if (out.waits < 0) {
    out.node_seconds = ar / aa;
  }
  out.node_seconds = std::max(out.node_seconds, 0.0);
  out.waits = std::max(out.waits, 0.0);
  return out;
}

StepRates rates_of(std::span<const MeasuredStep> steps, const MachineLimits& limits) {
  const std::vector<StepCost> bounds = bounds_of(steps, limits);
  StepRates out;
  out.work = work_factors(steps, bounds);
  out.sums_bytes_per_s = sums_rate(steps);
  std::vector<BusyCores> uses;
  for (const MeasuredStep& step : steps)
    if (std::ranges::find(uses, step.placement.cores) == uses.end())
      uses.push_back(step.placement.cores);
  for (const BusyCores cores : uses)
    out.overheads.push_back(overhead_of(steps, bounds, out.sums_bytes_per_s, cores));
  return out;
}

/// Of log(measured / predicted) of the steps of each model, predicted by those of the others.
double deviation_of(std::span<const MeasuredStep> steps, MachineLimits limits) {
  std::set<std::string> models;
  for (const MeasuredStep& step : steps) models.insert(step.model);
  double squares = 0;
  for (const std::string& model : models) {
    std::vector<MeasuredStep> others;
    std::ranges::copy_if(steps, std::back_inserter(others),
                         [&](const MeasuredStep& step) { return step.model != model; });
    limits.steps = rates_of(others, limits);
    for (const MeasuredStep& step : steps) {
      if (step.model != model) continue;
      const double predicted = step_cost(*step.step, limits, step.placement).seconds;
      squares += std::pow(std::log(step.seconds / predicted), 2);
    }
  }
  return std::sqrt(squares / static_cast<double>(steps.size()));
}

}  // namespace

double MeasuredStep::commands() const {
  return std::accumulate(work.begin(), work.end(), 0.0);
}

MeasuredStep measured_step(std::span<const RankProfile> profiles, std::string model,
                           std::shared_ptr<const CompiledStep> step,
                           const StepPlacement& placement) {
  MeasuredStep out{std::move(model), std::move(step), placement};
  for (const RankProfile& profile : profiles) {
    LS_CHECK(!profile.step_ms.empty(), "rank {} has measured no step", profile.rank);
    const double least = *std::ranges::min_element(profile.step_ms);
    const double scale =
        kMilli * least / profile.mean_step_ms / static_cast<double>(profiles.size());
    out.seconds += kMilli * least / static_cast<double>(profiles.size());
    for (const LedgerRow& row : profile.rows) {
      if (row.is_bundle())
        out.work[static_cast<std::size_t>(class_named(row.work))] += scale * row.ms;
      else if (row.work == "gradient sums")
        out.sums += scale * row.ms;
    }
  }
  LS_CHECK(out.seconds > 0, "no step was measured");
  return out;
}

StepRates fit_step_rates(std::span<const MeasuredStep> steps, MachineLimits limits) {
  StepRates out = rates_of(steps, limits);
  out.deviation = deviation_of(steps, std::move(limits));
  return out;
}

}  // namespace lockstep
