#include "data/length_buckets.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/error.h"
#include "data/length_windows.h"

namespace lockstep {
namespace {

constexpr std::int64_t kScanned = 1 << 20;  ///< samples of steps that are read

bool has_variable_length(const Dataset& dataset) {
  return std::ranges::any_of(dataset.fields(), &FieldSpec::variable_length);
}

std::int64_t maximum_of(const Dataset& dataset) {
  std::int64_t out = 0;
  for (const FieldSpec& field : dataset.fields())
    if (field.variable_length) out = std::max(out, field.shape[0]);
  return out;
}

/// A length that could be a bucket, and the batches that would be padded to it.
struct Candidate {
  std::int64_t length;
  std::int64_t batches_up_to;  ///< with a maximum of at most `length`
};

std::vector<Candidate> candidates(const LengthStatistics& lengths, std::int64_t multiple_of) {
  std::map<std::int64_t, std::int64_t> rounded;
  const auto round_up = [&](std::int64_t length) {
    return std::max<std::int64_t>((length + multiple_of - 1) / multiple_of, 1) * multiple_of;
  };
  for (const auto& [length, count] : lengths.maxima) rounded[round_up(length)] += count;
  rounded[round_up(lengths.longest)] += 0;
  std::vector<Candidate> out;
  std::int64_t sum = 0;
  out.reserve(rounded.size());
  for (const auto& [length, count] : rounded) out.push_back({length, sum += count});
  return out;
}

/// The best division of all candidates into runs, each padded to its last length.
class Division {
 public:
  Division(std::vector<Candidate> candidates, std::int64_t programs)
      : candidates_(std::move(candidates)), best_(1) {
    const std::size_t n = candidates_.size();
    best_[0].assign(n + 1, kInfinite);
    best_[0][0] = 0;
    for (std::int64_t k = 1; k <= std::min<std::int64_t>(programs, std::ssize(candidates_)); ++k) {
      best_.emplace_back(n + 1, kInfinite);
      last_run_.emplace_back(n + 1, 0);
      fill(static_cast<std::size_t>(k), 1, n, 0, n - 1);
    }
  }

  std::vector<std::int64_t> buckets() const {
    const std::size_t n = candidates_.size();
    std::size_t runs = 1;
    for (std::size_t k = 2; k < best_.size(); ++k)
      if (best_[k][n] < best_[runs][n]) runs = k;
    std::vector<std::int64_t> out;
    for (std::size_t end = n; runs > 0; end = last_run_[--runs][end])
      out.push_back(candidates_[end - 1].length);
    std::ranges::reverse(out);
    return out;
  }

 private:
  static constexpr std::int64_t kInfinite = std::numeric_limits<std::int64_t>::max() / 2;

  /// Elements per sample of the batches in the run of candidates [begin, end).
  std::int64_t cost(std::size_t begin, std::size_t end) const {
    const std::int64_t before = begin == 0 ? 0 : candidates_[begin - 1].batches_up_to;
    const Candidate& last = candidates_[end - 1];
    return (last.batches_up_to - before) * last.length;
  }

  /// best_[k][end] for first <= end <= last: the first `end` candidates in k runs. The begin of the
  /// last run does not decrease with `end` (the cost has the Monge property), so that halves are
  /// searched in their own ranges: O(n log n).
  void fill(std::size_t k, std::size_t first, std::size_t last, std::size_t from, std::size_t to) {
    if (first > last) return;
    const std::size_t end = first + (last - first) / 2;
    std::size_t found = from;
    for (std::size_t begin = from; begin <= std::min(to, end - 1); ++begin) {
      if (best_[k - 1][begin] >= kInfinite) continue;
      const std::int64_t whole = best_[k - 1][begin] + cost(begin, end);
      if (whole >= best_[k][end]) continue;
      best_[k][end] = whole;
      found = begin;
    }
    last_run_[k - 1][end] = found;
    fill(k, first, end - 1, from, found);
    fill(k, end + 1, last, found, to);
  }

  std::vector<Candidate> candidates_;
  std::vector<std::vector<std::int64_t>> best_;
  std::vector<std::vector<std::size_t>> last_run_;  ///< [k - 1][end]
};

void add_batch(LengthStatistics& out, const Dataset& dataset,
               const std::vector<std::int64_t>& samples) {
  std::int64_t longest = 0;
  for (const std::int64_t sample : samples) {
    const std::int64_t length = length_of(dataset, sample);
    longest = std::max(longest, length);
    out.content += length;
  }
  ++out.maxima[longest];
}

}  // namespace

LengthStatistics step_lengths(const Dataset& dataset, const StepSampler& sampler) {
  LengthStatistics out{.batch = sampler.global_batch_size(), .maximum = maximum_of(dataset)};
  const std::int64_t steps = std::min(
      sampler.steps_per_epoch(), std::max<std::int64_t>(kScanned / sampler.global_batch_size(), 1));
  for (std::int64_t step = 0; step < steps; ++step)
    add_batch(out, dataset, sampler.micro_batch_indices(step, 0, sampler.global_batch_size()));
  for (std::int64_t sample = 0; sample < dataset.size(); ++sample)
    out.longest = std::max(out.longest, length_of(dataset, sample));
  return out;
}

LengthStatistics batch_lengths(const Dataset& dataset, std::int64_t batch,
                               std::int64_t max_batches) {
  LengthStatistics out{.batch = batch, .maximum = maximum_of(dataset)};
  const std::int64_t all = (dataset.size() + batch - 1) / batch;
  for (std::int64_t k = 0; k < (max_batches > 0 ? std::min(all, max_batches) : all); ++k) {
    std::vector<std::int64_t> samples;
    for (std::int64_t i = 0; i < batch; ++i) {
      const std::int64_t sample = k * batch + i;
      samples.push_back(sample < dataset.size() ? sample : 0);  // filled up with sample 0
    }
    add_batch(out, dataset, samples);
  }
  if (!out.maxima.empty()) out.longest = out.maxima.rbegin()->first;
  return out;
}

std::vector<std::int64_t> choose_buckets(const LengthStatistics& lengths, std::int64_t programs,
                                         std::int64_t multiple_of) {
  LS_CHECK(programs >= 1 && multiple_of >= 1, "{} buckets of multiples of {}", programs,
           multiple_of);
  return Division(candidates(lengths, multiple_of), programs).buckets();
}

ChosenPadding choose_padding(const Padding& padding, const LengthStatistics& lengths) {
  ChosenPadding out{.padding = padding};
  if (padding.mode == PaddingMode::kBucket && padding.buckets.empty())
    out.padding.buckets = choose_buckets(lengths, padding.max_buckets, padding.multiple_of);
  std::int64_t computed = 0;
  std::map<std::int64_t, std::int64_t> programs;
  for (const auto& [longest, count] : lengths.maxima) {
    const std::int64_t length = padded_length(out.padding, longest, lengths.maximum);
    programs[length] += count;
    computed += length * count * lengths.batch;
  }
  std::vector<std::string> names;
  names.reserve(programs.size());
  for (const auto& [length, count] : programs) names.push_back(fmt::format("{}", length));
  constexpr std::size_t kListed = 16;
  if (names.size() > kListed) {
    names.erase(names.begin() + kListed / 2, names.end() - kListed / 2);
    names.insert(names.begin() + kListed / 2, "...");
  }
  const double share = computed == 0 ? 0
                                     : 100.0 * static_cast<double>(computed - lengths.content) /
                                           static_cast<double>(computed);
  out.text =
      fmt::format("{} padded length{} of steps ({}), {:.1f} % of their elements padding",
                  programs.size(), programs.size() == 1 ? "" : "s", fmt::join(names, ", "), share);
  return out;
}

ChosenPadding step_padding(const Padding& padding, const Dataset& dataset,
                           const StepSampler& sampler) {
  if (has_variable_length(dataset)) return choose_padding(padding, step_lengths(dataset, sampler));
  ChosenPadding out{.padding = padding};
  out.padding.mode = PaddingMode::kMax;  // no lengths to choose buckets for
  return out;
}

Padding evaluation_padding(const Padding& padding, const Dataset& dataset, std::int64_t batch,
                           std::int64_t max_batches) {
  if (padding.mode != PaddingMode::kBucket || !padding.buckets.empty()) return padding;
  if (!has_variable_length(dataset)) {
    Padding out = padding;
    out.mode = PaddingMode::kMax;
    return out;
  }
  return choose_padding(padding, batch_lengths(dataset, batch, max_batches)).padding;
}

}  // namespace lockstep
