#include "data/samples/collate.h"

#include <gtest/gtest.h>

#include "tests/fixtures/error_of.h"

namespace lockstep {
namespace {

using Ids = std::vector<std::int32_t>;

Sample tokens(const Ids& ids) {
  return {{"tokens", HostTensor::of(Shape{Dim(static_cast<std::int64_t>(ids.size()))}, ids)}};
}

std::vector<FieldSpec> up_to(std::int64_t length) {
  return {{"tokens", DType::kI32, Shape{Dim(length)}, true}};
}

HostBatch collate_tokens(const std::vector<Sample>& samples, const std::vector<FieldSpec>& fields,
                         const Padding& padding = {}) {
  std::vector<std::int64_t> indices;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    indices.push_back(static_cast<std::int64_t>(10 * i));
  }
  return collate(samples, indices, fields, padding);
}

TEST(Collate, StacksFixedShapesAndScalars) {
  const std::vector<FieldSpec> fields = {{"image", DType::kF32, Shape{2, 1}},
                                         {"label", DType::kI32, Shape{}}};
  std::vector<Sample> samples;
  for (int i = 0; i < 3; ++i) {
    const auto value = static_cast<float>(i);
    samples.push_back(
        {{"image", HostTensor::of(Shape{2, 1}, std::vector<float>{value, value + 0.5F})},
         {"label", HostTensor::scalar(i)}});
  }
  const HostBatch batch = collate_tokens(samples, fields);
  EXPECT_EQ(batch.size(), 2U) << "no mask without variable lengths";
  EXPECT_EQ(batch.at("image").shape(), (Shape{3, 2, 1}));
  EXPECT_EQ(to_doubles(batch.at("image")), (std::vector<double>{0, 0.5, 1, 1.5, 2, 2.5}));
  EXPECT_EQ(batch.at("label").shape(), (Shape{3}));
  EXPECT_EQ(to_doubles(batch.at("label")), (std::vector<double>{0, 1, 2}));
}

TEST(Collate, PadsToTheLongestAndMarksTheContent) {
  Padding padding{.mode = PaddingMode::kLongest};
  padding.pad_values["tokens"] = -1;
  const HostBatch batch = collate_tokens({tokens({1, 2, 3}), tokens({4})}, up_to(8), padding);
  EXPECT_EQ(batch.at("tokens").shape(), (Shape{2, 3}));
  EXPECT_EQ(to_doubles(batch.at("tokens")), (std::vector<double>{1, 2, 3, 4, -1, -1}));
  EXPECT_EQ(batch.at("attention_mask").dtype(), DType::kF32);
  EXPECT_EQ(to_doubles(batch.at("attention_mask")), (std::vector<double>{1, 1, 1, 1, 0, 0}));
}

TEST(Collate, PaddedLengthFollowsTheMode) {
  const std::vector<Sample> samples = {tokens({1, 2, 3}), tokens({4})};
  const auto length = [&](const Padding& padding) {
    return collate_tokens(samples, up_to(10), padding).at("tokens").shape()[1];
  };
  EXPECT_EQ(length({.mode = PaddingMode::kMax}), 10);
  EXPECT_EQ(length({.mode = PaddingMode::kLongest}), 3);
  EXPECT_EQ(length({.mode = PaddingMode::kLongest, .multiple_of = 4}), 4);
  EXPECT_EQ(length({.mode = PaddingMode::kBucket, .buckets = {2, 6, 10}}), 6);
  EXPECT_EQ(length({.mode = PaddingMode::kBucket, .buckets = {3, 6, 10}}), 3);
}

TEST(Collate, EmptySamplesArePaddedThroughout) {
  const HostBatch batch =
      collate_tokens({tokens({}), tokens({5})}, up_to(4), {.mode = PaddingMode::kLongest});
  EXPECT_EQ(to_doubles(batch.at("tokens")), (std::vector<double>{0, 5}));
  EXPECT_EQ(to_doubles(batch.at("attention_mask")), (std::vector<double>{0, 1}));
}

TEST(Collate, PadsWithTheFieldsValueUnlessThePaddingHasOne) {
  std::vector<FieldSpec> fields = up_to(2);
  fields[0].pad_value = -100;
  const std::vector<Sample> samples = {tokens({1})};
  EXPECT_EQ(to_doubles(collate_tokens(samples, fields).at("tokens")),
            (std::vector<double>{1, -100}));
  EXPECT_EQ(
      to_doubles(collate_tokens(samples, fields, {.pad_values = {{"tokens", 7}}}).at("tokens")),
      (std::vector<double>{1, 7}));
}

TEST(Padding, TheLargestLengthIsThatOfTheWorstBatch) {
  EXPECT_EQ(largest_length({.mode = PaddingMode::kMax}, 30), 30);
  EXPECT_EQ(largest_length({.mode = PaddingMode::kLongest, .multiple_of = 16}, 30), 32);
  EXPECT_EQ(largest_length({.mode = PaddingMode::kBucket, .buckets = {8, 20}}, 30), 20);
}

TEST(Padding, RefusesImpossibleSettings) {
  for (const std::vector<std::int64_t>& buckets : {std::vector<std::int64_t>{8, 4}, {4, 4}, {0, 4}})
    EXPECT_EQ(usage_error([&] {
                padded_length({.mode = PaddingMode::kBucket, .buckets = buckets}, 3, 10);
              }),
              "buckets must be positive lengths in ascending order");
  EXPECT_EQ(usage_error([] { check_padding({.mode = PaddingMode::kBucket, .max_buckets = 0}); }),
            "max_buckets must be at least 1, not 0");
  EXPECT_EQ(usage_error([] { padded_length({.multiple_of = 0}, 3, 10); }),
            "pad_to_multiple_of must be at least 1, not 0");
  EXPECT_EQ(
      data_error([] { padded_length({.mode = PaddingMode::kBucket, .buckets = {2}}, 3, 10); }),
      "a sample of length 3 does not fit the largest bucket, 2; give a longer one, or auto");
}

TEST(Collate, NamesFieldSampleAndBothShapes) {
  const std::vector<FieldSpec> fixed = {{"tokens", DType::kI32, Shape{2}}};
  EXPECT_EQ(data_error([&] {
              collate_tokens({tokens({1, 2}), tokens({1, 2, 3})}, fixed);
            }),
            "field 'tokens' of sample 10 has shape [3], but [2] is expected");
  EXPECT_EQ(data_error([&] {
              collate_tokens({tokens({1, 2, 3})}, up_to(2));
            }),
            "field 'tokens' of sample 0 has shape [3], but at most [2] is expected");
  const std::vector<FieldSpec> floats = {{"tokens", DType::kF32, Shape{2}}};
  EXPECT_EQ(data_error([&] {
              collate_tokens({tokens({1, 2})}, floats);
            }),
            "field 'tokens' of sample 0 is i32, not f32");
  const std::vector<FieldSpec> other = {{"targets", DType::kI32, Shape{2}}};
  EXPECT_EQ(data_error([&] {
              collate_tokens({tokens({1, 2})}, other);
            }),
            "sample 0 has no field 'targets'");
}

}  // namespace
}  // namespace lockstep
