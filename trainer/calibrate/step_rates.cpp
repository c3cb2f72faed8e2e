#include "trainer/calibrate/step_rates.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
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

/// What is fitted to parts of a sum as least squares of relative errors, neither of them negative.
struct TwoTerms {
  double first = 0;
  double second = 0;
};

/// first * a + second * b = r for each row that was added, by its weight.
class TwoTermFit {
 public:
  void add(double a, double b, double r, double weight = 1) {
    aa_ += weight * a * a, ab_ += weight * a * b, bb_ += weight * b * b;
    ar_ += weight * a * r, br_ += weight * b * r;
    ++rows_;
  }

  /// Nothing where the rows do not tell the terms apart; two rows would be met exactly, with all
  /// their noise.
  std::optional<TwoTerms> solve() const {
    constexpr int kMinRows = 3;
    if (rows_ < kMinRows) return std::nullopt;
    constexpr double kSingular = 1e-9;
    const double determinant = aa_ * bb_ - ab_ * ab_;
    if (determinant <= kSingular * aa_ * bb_) return std::nullopt;
    const TwoTerms out{(ar_ * bb_ - br_ * ab_) / determinant,
                       (br_ * aa_ - ar_ * ab_) / determinant};
    if (out.first < 0) return TwoTerms{0, std::max(0.0, second_alone())};
    if (out.second < 0) return TwoTerms{std::max(0.0, ar_ / aa_), 0};
    return out;
  }

  double second_alone() const { return br_ / bb_; }

 private:
  double aa_ = 0, ab_ = 0, bb_ = 0, ar_ = 0, br_ = 0;
  int rows_ = 0;
};

/// What a class's time goes with beside its lower bound.
enum class SecondTerm : std::uint8_t { kNone, kBytes, kBundles };

SecondTerm second_term(WorkClass work) {
  switch (work) {
    case WorkClass::kDot:
    case WorkClass::kConvolution: return SecondTerm::kNone;
    case WorkClass::kAttention: return SecondTerm::kBytes;
    case WorkClass::kPool:
    case WorkClass::kReduce:
    case WorkClass::kFused:
    case WorkClass::kFusedReduce:
    case WorkClass::kMovement:
    case WorkClass::kGather:
    case WorkClass::kScatterAdd:
    case WorkClass::kOptimizer:
    case WorkClass::kCopy:
    case WorkClass::kHostCall:
    case WorkClass::kCollective: return SecondTerm::kBundles;
  }
  __builtin_unreachable();
}

/// The factor of one class, from the steps of several models.
class ClassFit {
 public:
  explicit ClassFit(SecondTerm second) : second_(second) {}

  void add(const WorkCost& bound, double taken, double weight) {
    mean_.add(taken / bound.seconds, weight);
    const double second =
        second_ == SecondTerm::kBytes ? bound.bytes : static_cast<double>(bound.bundles);
    terms_.add(bound.seconds / taken, second / taken, 1, weight);
  }

  /// Fills in what was fitted.
  void fit(WorkFactor& row) const {
    row.factor = mean_.value();
    if (second_ == SecondTerm::kNone) return;
    const std::optional<TwoTerms> terms = terms_.solve();
    if (!terms || terms->first <= 0) return;
    row.factor = terms->first;
    (second_ == SecondTerm::kBytes ? row.byte_seconds : row.bundle_seconds) = terms->second;
  }

 private:
  SecondTerm second_;
  MeanFactor mean_;
  TwoTermFit terms_;
};

std::vector<WorkFactor> work_factors(std::span<const MeasuredStep> steps,
                                     std::span<const StepCost> bounds) {
  using Key = std::tuple<WorkClass, DType, int, int>;
  std::map<Key, ClassFit> fits;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const StepPlacement& placement = steps[s].placement;
    for (std::size_t i = 0; i < steps[s].work.size(); ++i) {
      const auto work = static_cast<WorkClass>(i);
      const double taken = steps[s].work[i];
      if (bounds[s].bounds[i].seconds <= 0 || taken <= 0) continue;
      const Key key{work, placement.math, placement.cores.threads, placement.cores.ranks};
      fits.try_emplace(key, second_term(work))
          .first->second.add(bounds[s].bounds[i], taken, taken / steps[s].seconds);
    }
  }
  std::vector<WorkFactor> out;
  out.reserve(fits.size());
  for (const auto& [key, fit] : fits) {
    const auto& [work, math, threads, ranks] = key;
    fit.fit(out.emplace_back(WorkFactor{std::string(name_of(work)), math, {threads, ranks}}));
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
/// commands, of whole steps.
StepOverhead overhead_of(std::span<const MeasuredStep> steps, std::span<const StepCost> bounds,
                         double sums_bytes_per_s, BusyCores cores) {
  TwoTermFit fit;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const MeasuredStep& step = steps[s];
    if (step.placement.cores != cores) continue;
    const double sums = step.placement.micro_batches > 1 && sums_bytes_per_s > 0 ? step.sums : 0;
    const double rest = step.seconds - step.commands() - sums - bounds[s].all_reduce;
    fit.add(static_cast<double>(step.step->step.nodes.size()) / step.seconds,
            step.commands() / step.seconds, rest / step.seconds);
  }
  const TwoTerms terms = fit.solve().value_or(TwoTerms{0, std::max(0.0, fit.second_alone())});
  return {cores, terms.first, terms.second};
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
