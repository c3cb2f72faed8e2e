#include "data/length_buckets.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "data/eval_loader.h"
#include "data/loader.h"
#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

using TokenCounts = std::vector<std::int64_t>;

/// Sample i has lengths[i] tokens, all of them i.
class LengthsDataset final : public Dataset {
 public:
  explicit LengthsDataset(TokenCounts lengths) : lengths_(std::move(lengths)) {}
  std::int64_t size() const override { return std::ssize(lengths_); }
  std::vector<FieldSpec> fields() const override {
    return {{"tokens", DType::kI64, Shape{*std::ranges::max_element(lengths_)}, true}};
  }
  Sample get(std::int64_t index) const override {
    const TokenCounts tokens(static_cast<std::size_t>(lengths_[static_cast<std::size_t>(index)]),
                             index);
    return {{"tokens", HostTensor::of(Shape{std::ssize(tokens)}, tokens)}};
  }

 private:
  TokenCounts lengths_;
};

/// TokenCounts as of texts: many short ones, a few long ones.
TokenCounts skewed(std::int64_t count) {
  TokenCounts out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(1 + (i * 7919 % 97) * (i * 31 % 13) / 4);
  return out;
}

LengthStatistics statistics(const std::map<std::int64_t, std::int64_t>& maxima) {
  return {.maxima = maxima, .batch = 1, .longest = maxima.rbegin()->first};
}

std::int64_t padded_work(const LengthStatistics& lengths, const TokenCounts& buckets) {
  std::int64_t out = 0;
  for (const auto& [length, count] : lengths.maxima)
    out += count * *std::ranges::lower_bound(buckets, length);
  return out;
}

/// The least over all sets of at most `programs` of the candidates that hold the longest.
std::int64_t min_work(const LengthStatistics& lengths, const TokenCounts& candidates,
                      std::int64_t programs) {
  std::int64_t min = std::numeric_limits<std::int64_t>::max();
  for (std::uint32_t set = 0; set < 1U << (candidates.size() - 1); ++set) {
    if (std::popcount(set) + 1 > programs) continue;
    TokenCounts buckets;
    for (std::size_t i = 0; i + 1 < candidates.size(); ++i)
      if (set >> i & 1) buckets.push_back(candidates[i]);
    buckets.push_back(candidates.back());
    min = std::min(min, padded_work(lengths, buckets));
  }
  return min;
}

RC_GTEST_PROP(ChooseBuckets, NoOtherBucketsPadLess, ()) {
  const auto drawn = *rc::gen::suchThat(
      rc::gen::map(
          rc::gen::container<std::map<std::int64_t, std::int64_t>>(
              rc::gen::inRange<std::int64_t>(1, 60), rc::gen::inRange<std::int64_t>(1, 30)),
          [](auto lengths) {
            while (lengths.size() > 9) lengths.erase(lengths.begin());
            return lengths;
          }),
      [](const auto& lengths) { return !lengths.empty(); });
  const auto programs = *rc::gen::inRange<std::int64_t>(1, 6);
  const auto multiple = *rc::gen::inRange<std::int64_t>(1, 5);
  const LengthStatistics lengths = statistics(drawn);
  const TokenCounts buckets = choose_buckets(lengths, programs, multiple);
  std::set<std::int64_t> candidates;
  for (const auto& [length, count] : drawn)
    candidates.insert((length + multiple - 1) / multiple * multiple);
  RC_ASSERT(std::ssize(buckets) <= programs);
  for (const std::int64_t bucket : buckets) RC_ASSERT(candidates.contains(bucket));
  RC_ASSERT(buckets.back() >= lengths.longest);
  const TokenCounts all(candidates.begin(), candidates.end());
  RC_ASSERT(padded_work(lengths, buckets) == min_work(lengths, all, programs));
}

TEST(ChooseBuckets, TakesTheFewestThatPadAsLittleAndHoldsTheLongestOfTheDataset) {
  EXPECT_EQ(choose_buckets(statistics({{10, 5}, {20, 1}}), 8, 1), (TokenCounts{10, 20}));
  EXPECT_EQ(choose_buckets(statistics({{10, 5}, {11, 1}}), 8, 16), (TokenCounts{16}));
  LengthStatistics lengths = statistics({{10, 5}});
  lengths.longest = 40;
  EXPECT_EQ(choose_buckets(lengths, 1, 1), (TokenCounts{40}));
  EXPECT_EQ(choose_buckets(lengths, 2, 1), (TokenCounts{10, 40}));
}

TEST(ChooseBuckets, IsQuickForManyLengths) {
  std::map<std::int64_t, std::int64_t> maxima;
  for (std::int64_t length = 1; length <= 8192; ++length) maxima[length] = 1 + length * 7919 % 101;
  const TokenCounts buckets = choose_buckets(statistics(maxima), 16, 1);
  EXPECT_EQ(buckets.size(), 16U);
  EXPECT_EQ(buckets.back(), 8192);
}

TEST(StepPadding, GoesByTheLongestOfEachStepAndTellsWhatIsPadding) {
  // Steps of the first epoch, unshuffled: (1 4) (2 2) (8 1); the longest sample, 9, is left out.
  const LengthsDataset dataset({1, 4, 2, 2, 8, 1, 9});
  const StepSampler sampler(1, 7, 2, false);
  const LengthStatistics lengths = step_lengths(dataset, sampler);
  EXPECT_EQ(lengths.maxima, (std::map<std::int64_t, std::int64_t>{{2, 1}, {4, 1}, {8, 1}}));
  EXPECT_EQ(lengths.content, 18);
  EXPECT_EQ(lengths.longest, 9);
  const ChosenPadding two =
      step_padding({.mode = PaddingMode::kBucket, .max_buckets = 2}, dataset, sampler);
  EXPECT_EQ(two.padding.buckets, (TokenCounts{4, 9}));
  EXPECT_EQ(two.text, "2 padded lengths of steps (4, 9), 47.1 % of their elements padding");
  const ChosenPadding max = step_padding({}, dataset, sampler);
  EXPECT_EQ(max.text, "1 padded length of steps (9), 66.7 % of their elements padding");
  const ChosenPadding longest = step_padding({.mode = PaddingMode::kLongest}, dataset, sampler);
  EXPECT_EQ(longest.text, "3 padded lengths of steps (2, 4, 8), 35.7 % of their elements padding");
}

TEST(EvaluationPadding, GoesByTheBatchesAndLeavesGivenBucketsAlone) {
  const LengthsDataset dataset({1, 4, 2, 2, 8});
  const Padding automatic{.mode = PaddingMode::kBucket, .max_buckets = 2};
  EXPECT_EQ(evaluation_padding(automatic, dataset, 2, 0).buckets, (TokenCounts{4, 8}));
  EXPECT_EQ(evaluation_padding(automatic, dataset, 2, 2).buckets, (TokenCounts{2, 4}));
  const Padding given{.mode = PaddingMode::kBucket, .buckets = {16}};
  EXPECT_EQ(evaluation_padding(given, dataset, 2, 0).buckets, (TokenCounts{16}));
}

StepSampler grouped(const DatasetPtr& dataset, std::int64_t window) {
  return make_step_sampler(dataset, 3, 8, true, window);
}

TEST(GroupByLength, AWindowsStepsAreItsSamplesSortedAndShuffledWhole) {
  const TokenCounts lengths = skewed(200);
  const auto dataset = std::make_shared<LengthsDataset>(lengths);
  constexpr std::int64_t kWindow = 5 * 8;
  const StepSampler plain = grouped(dataset, 0), sampler = grouped(dataset, kWindow + 3);
  const auto length = [&](std::int64_t sample) {
    return lengths[static_cast<std::size_t>(sample)];
  };
  bool sorted_throughout = true;
  for (const std::int64_t epoch : {0, 3}) {
    for (std::int64_t window = 0; window < 5; ++window) {
      TokenCounts before, after, firsts;
      for (std::int64_t i = 0; i < 5; ++i) {
        const std::int64_t step = epoch * sampler.steps_per_epoch() + window * 5 + i;
        const TokenCounts was = plain.micro_batch_indices(step, 0, 8),
                          is = sampler.micro_batch_indices(step, 0, 8);
        before.insert(before.end(), was.begin(), was.end());
        after.insert(after.end(), is.begin(), is.end());
        EXPECT_TRUE(std::ranges::is_sorted(is, {}, length));
        firsts.push_back(length(is.front()));
      }
      sorted_throughout = sorted_throughout && std::ranges::is_sorted(firsts);
      std::ranges::sort(before);
      std::ranges::sort(after);
      EXPECT_EQ(before, after) << "window " << window << " has other samples";
    }
  }
  EXPECT_FALSE(sorted_throughout) << "short steps come first";
}

TEST(GroupByLength, PadsLess) {
  const auto dataset = std::make_shared<LengthsDataset>(skewed(400));
  const auto padded = [&](std::int64_t window) {
    const LengthStatistics lengths = step_lengths(*dataset, grouped(dataset, window));
    std::int64_t sum = 0;
    for (const auto& [longest, count] : lengths.maxima) sum += longest * count * 8;
    return static_cast<double>(sum) / static_cast<double>(lengths.content);
  };
  EXPECT_GT(padded(0), 2.0);
  EXPECT_LT(padded(200), 1.3);
}

TEST(GroupByLength, AnEndOfAnEpochThatFillsNoWindowIsGroupedAmongItself) {
  const auto dataset = std::make_shared<LengthsDataset>(skewed(60));  // 7 steps: 3 + 3 + 1
  const StepSampler sampler = grouped(dataset, 24);
  std::set<std::int64_t> seen;
  for (std::int64_t step = 0; step < 7; ++step)
    for (const std::int64_t sample : sampler.micro_batch_indices(step, 0, 8)) seen.insert(sample);
  EXPECT_EQ(seen.size(), 56U);
  EXPECT_EQ(usage_error([&] { grouped(dataset, 7); }),
            "group_by_length 7 must be at least the global_batch_size, 8: steps are made of the "
            "samples of one window");
}

/// All fields of steps [first, end) of a rank's micro-batches.
std::vector<std::vector<double>> batches(const DatasetPtr& dataset, const Padding& padding,
                                         const LoaderOptions& options) {
  LoaderOptions with = options;
  with.padding = padding;
  Loader loader(dataset, grouped(dataset, 24), with);
  std::vector<std::vector<double>> out;
  while (loader.has_next())
    for (const HostBatch& micro_batch : loader.next().micro_batches)
      for (const auto& [name, value] : micro_batch) out.push_back(to_doubles(value));
  return out;
}

TEST(VaryingLengths, BatchesDependOnNeitherWorkersNorRanksNorWhereARunBegan) {
  const auto dataset = std::make_shared<LengthsDataset>(skewed(100));
  for (const PaddingMode mode : {PaddingMode::kLongest, PaddingMode::kBucket}) {
    const Padding padding =
        step_padding({.mode = mode, .max_buckets = 3}, *dataset, grouped(dataset, 24)).padding;
    const LoaderOptions all{.end_step = 30, .micro_batches = 4, .micro_batch_size = 2};
    const auto expected = batches(dataset, padding, all);
    for (const int workers : {1, 3}) {
      LoaderOptions options = all;
      options.workers = workers;
      EXPECT_EQ(batches(dataset, padding, options), expected) << workers << " workers";
    }
    LoaderOptions resumed = all;
    resumed.first_step = 13;
    EXPECT_EQ(batches(dataset, padding, resumed),
              std::vector(expected.begin() + 13 * 4 * 2, expected.end()));
    // Two ranks have two micro-batches each.
    std::vector<std::vector<double>> theirs;
    for (std::int64_t step = 0; step < 30; ++step)
      for (const std::int64_t rank : {0, 1}) {
        const LoaderOptions part{.first_step = step,
                                 .end_step = step + 1,
                                 .first_micro_batch = 2 * rank,
                                 .micro_batches = 2,
                                 .micro_batch_size = 2};
        for (auto& values : batches(dataset, padding, part)) theirs.push_back(std::move(values));
      }
    EXPECT_EQ(theirs, expected);
  }
}

}  // namespace
}  // namespace lockstep
