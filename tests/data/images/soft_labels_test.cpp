#include "data/images/soft_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/images/image_array.h"
#include "data/images/image_dataset.h"
#include "data/loader.h"
#include "data/samples/subset.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

/// Image i is one pixel of 51 i, of class i.
DatasetPtr pixels(std::int64_t count, const SoftLabels& labels) {
  LabelledImages images{.source = "x", .shape = Shape{1, 1, 1}};
  for (std::int64_t i = 0; i < count; ++i) {
    images.pixels.push_back(static_cast<std::uint8_t>(51 * i));
    images.labels.push_back(static_cast<std::int32_t>(i));
  }
  return std::make_shared<ImageDataset>(
      std::make_shared<ImageArray>(std::move(images)),
      ImageOptions{.shape = Shape{1, 1, 1}, .classes = count, .soft_labels = labels});
}

/// What samples are drawn as for one micro-batch.
std::vector<Sample> drawn(const Dataset& dataset, const std::vector<std::int64_t>& indices,
                          const DrawKey& key) {
  std::vector<Sample> out;
  for (const std::int64_t index : indices) out.push_back(dataset.draw(index, key));
  dataset.mix(out, indices, key);
  return out;
}

double number(const Sample& sample, const std::string& field) {
  return to_doubles(sample.at(field)).at(0);
}

// Beta(a, a) has mean 1/2 and variance 1 / (4 (2 a + 1)).
TEST(SoftLabels, DrawsWeightsFromBeta) {
  for (const double alpha : {0.1, 0.4, 1.0, 3.0}) {
    constexpr int kDraws = 20000;
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double weight = mix_weight(alpha, i, {.seed = 5, .epoch = 3});
      ASSERT_GE(weight, 0);
      ASSERT_LE(weight, 1);
      sum += weight;
      squares += (weight - 0.5) * (weight - 0.5);
    }
    EXPECT_NEAR(sum / kDraws, 0.5, 0.015) << alpha;
    EXPECT_NEAR(squares / kDraws * 4 * (2 * alpha + 1), 1, 0.04) << alpha;
  }
  EXPECT_THAT(mix_weight(1e-300, 1, {.seed = 5, .epoch = 3}), testing::AnyOf(0, 1));
  EXPECT_EQ(mix_weight(1e-320, 1, {.seed = 5, .epoch = 3}), 0.5) << "no number says which is more";
}

TEST(SoftLabels, WeightsAreAFunctionOfKeyAndIndex) {
  const auto weight = [](std::int64_t index, std::uint64_t seed, std::int64_t epoch) {
    return mix_weight(0.4, index, {.seed = seed, .epoch = epoch});
  };
  EXPECT_EQ(weight(3, 1, 0), weight(3, 1, 0));
  EXPECT_NE(weight(3, 1, 0), weight(4, 1, 0));
  EXPECT_NE(weight(3, 1, 0), weight(3, 2, 0));
  EXPECT_NE(weight(3, 1, 0), weight(3, 1, 1));
}

TEST(SoftLabels, MixEachImageWithTheNext) {
  const DatasetPtr dataset = pixels(5, {.mixup = 1});
  const DrawKey key{.seed = 2, .epoch = 1};
  const std::vector<std::int64_t> indices = {4, 0, 2};
  const std::vector<Sample> mixed = drawn(*dataset, indices, key);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto weight = static_cast<float>(mix_weight(1, indices[i], key));
    const std::int64_t other = indices[(i + 1) % 3];
    EXPECT_EQ(number(mixed[i], "label"), indices[i]);
    EXPECT_EQ(number(mixed[i], kMixLabel), other);
    EXPECT_EQ(number(mixed[i], kMixWeight), weight);
    EXPECT_FLOAT_EQ(static_cast<float>(number(mixed[i], "image")),
                    weight * 0.2F * static_cast<float>(indices[i]) +
                        (1 - weight) * 0.2F * static_cast<float>(other));
  }
  EXPECT_EQ(number(drawn(*dataset, {3}, key)[0], "image"), 0.6F) << "alone it stays what it is";
  // A part of the data draws what the whole does.
  const SubsetDataset part(dataset, 1, 5);
  EXPECT_EQ(number(drawn(part, {2, 0}, key)[1], kMixWeight),
            number(drawn(*dataset, {3, 1}, key)[1], kMixWeight));
}

TEST(SoftLabels, LeaveEvaluationAlone) {
  const DatasetPtr dataset = pixels(3, {.mixup = 1, .smoothing = 0.1});
  for (const Sample& sample : drawn(*dataset, {1, 2}, {.seed = 2})) {
    EXPECT_EQ(number(sample, kMixWeight), 1);
    EXPECT_EQ(number(sample, kLabelSmoothing), 0);
    EXPECT_EQ(number(sample, "image"), 0.2F * static_cast<float>(number(sample, "label")));
  }
  EXPECT_EQ(dataset->fields().size(), 5U);
  EXPECT_EQ(pixels(3, {})->fields().size(), 2U);
}

TEST(SoftLabels, ReachTheBatchesOfTheLoader) {
  const DatasetPtr dataset = pixels(4, {.mixup = 1, .smoothing = 0.25});
  Loader loader(dataset, StepSampler(7, 4, 4, /*shuffle=*/false),
                {.micro_batches = 2, .micro_batch_size = 2});
  const StepBatch step = loader.next();
  for (std::int64_t micro_batch = 0; micro_batch < 2; ++micro_batch) {
    const HostBatch& batch = step.micro_batches[static_cast<std::size_t>(micro_batch)];
    const double a = static_cast<double>(2 * micro_batch), b = a + 1;
    EXPECT_THAT(to_doubles(batch.at("label")), ElementsAre(a, b));
    EXPECT_THAT(to_doubles(batch.at(kMixLabel)), ElementsAre(b, a))
        << "partners of the micro-batch";
    EXPECT_THAT(to_doubles(batch.at(kLabelSmoothing)), ElementsAre(0.25, 0.25));
  }
}

}  // namespace
}  // namespace lockstep
