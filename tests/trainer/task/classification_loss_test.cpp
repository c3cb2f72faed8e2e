// The counts of classification models besides their loss.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/trace/mode.h"
#include "tests/core/nn/layer_fixture.h"
#include "trainer/task/model.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();

struct ClassificationLoss : LayerTest {
  /// Labels of these rows of seven logits.
  Batch batch_of(const std::vector<std::int32_t>& labels) {
    const auto rows = static_cast<std::int64_t>(labels.size());
    return Batch({{"label", value(HostTensor::of(Shape{rows}, labels))}});
  }
  Tensor logits(const std::vector<std::vector<float>>& rows) {
    std::vector<float> all;
    for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
    const auto count = static_cast<std::int64_t>(rows.size());
    return value(HostTensor::of(Shape{count, static_cast<std::int64_t>(all.size()) / count}, all));
  }
  float top5(const std::vector<float>& row, std::int32_t label) {
    const Tensor sum = [&] {
      return classification_loss(logits({row}), batch_of({label})).metrics.at("top5").sum;
    }();
    return value_of(sum)[0];
  }
};

TEST_F(ClassificationLoss, CountsLabelsAmongTheFiveLargestLogits) {
  const std::vector<float> row = {3, 9, 4, 8, 5, 7, 6};
  EXPECT_EQ(top5(row, 0), 0) << "the last of seven";
  EXPECT_EQ(top5(row, 2), 0) << "the sixth";
  EXPECT_EQ(top5(row, 4), 1) << "the fifth";
  EXPECT_EQ(top5(row, 1), 1);
}

TEST_F(ClassificationLoss, TakesTheFirstOfEqualLogits) {
  const std::vector<float> row = {2, 2, 2, 2, 2, 2, 2};
  EXPECT_EQ(top5(row, 4), 1);
  EXPECT_EQ(top5(row, 5), 0);
}

TEST_F(ClassificationLoss, TakesNoNaNForAGoodLogit) {
  EXPECT_EQ(top5({kNoNumber, 1, 1, 1, 1, 1, 1}, 0), 0);
  EXPECT_EQ(top5({kNoNumber, kNoNumber, kNoNumber, kNoNumber, kNoNumber, kNoNumber, 1}, 6), 0);
}

TEST_F(ClassificationLoss, CountsTheTopFiveOfManyClassesInEvaluationsOnly) {
  const Tensor seven = counting(Shape{1, 7}), five = counting(Shape{1, 5});
  const Batch batch = batch_of({0});
  const auto has_top5 = [&](const Tensor& of) {
    return classification_loss(of, batch).metrics.contains("top5");
  };
  EXPECT_TRUE(has_top5(seven));
  EXPECT_FALSE(has_top5(five));
  const Mode mode{.training = true};
  const ModeScope scope(context, mode);
  EXPECT_FALSE(has_top5(seven));
  EXPECT_TRUE(classification_loss(seven, batch).metrics.contains("accuracy"));
}

TEST_F(ClassificationLoss, LeavesOutSamplesThatOnlyFillABatchUp) {
  const std::vector<std::vector<float>> rows = {{1, 2, 3, 4, 5, 6, 7}, {1, 2, 3, 4, 5, 6, 7}};
  Batch::Fields fields = batch_of({6, 6}).fields();
  fields["mask"] = value(HostTensor::of(Shape{2}, std::vector<float>{1, 0}));
  const Tensor sum = classification_loss(logits(rows), Batch(fields)).metrics.at("top5").sum;
  EXPECT_THAT(value_of(sum), ElementsAre(1));
}

}  // namespace
}  // namespace lockstep
