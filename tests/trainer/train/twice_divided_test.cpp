// Losses that are divided by their samples twice are refused, and those that are not are left
// alone.
#include "trainer/train/twice_divided.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/trace/context.h"
#include "core/trace/functions.h"
#include "core/trace/gradients.h"
#include "core/trace/value.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t kBatchSize = 6;
constexpr std::int64_t kRunSteps = 4;

enum class Verdict : std::uint8_t { kRight, kDoubtful, kWrong };

struct TwiceDividedLoss : testing::Test {
  Tensor input(const Shape& shape, InputKind kind, const char* name) {
    const HostTensor zeros(DType::kF32, shape);
    return context.tensor(std::make_shared<HostScalar>(zeros), kind, name);
  }
  Tensor one() { return context.constant(1.0, DType::kI64); }

  Verdict judge(const Tensor& sum, const Tensor& count) {
    const auto found = find_twice_divided({sum, count}, batch, "the loss");
    if (!found) return Verdict::kRight;
    text = found->text;
    return found->certain ? Verdict::kWrong : Verdict::kDoubtful;
  }
  /// With the number of samples as the count.
  Verdict judge(const Tensor& sum) { return judge(sum, batch.count()); }

  TraceContext context;
  Batch batch{{{"x", input(Shape{kBatchSize, kRunSteps}, InputKind::kBatch, "batch.x")}}};
  Batch masked{{{"mask", input(Shape{kBatchSize}, InputKind::kBatch, "batch.mask")},
                {"x", input(Shape{kBatchSize, kRunSteps}, InputKind::kBatch, "batch.x")}}};
  Tensor w = input(Shape{kRunSteps, kRunSteps}, InputKind::kParameter, "w");
  Tensor rows = exp(matmul(batch["x"], w));  ///< [samples, steps]
  Tensor losses = reduce_sum(rows, {1});     ///< [samples]
  Tensor samples = convert(batch.count(), DType::kF32);
  std::string text;
};

TEST_F(TwiceDividedLoss, IsAMeanWithTheNumberOfSamples) {
  EXPECT_EQ(judge(mean(losses, {0})), Verdict::kWrong);
  EXPECT_EQ(judge(mean(rows, {0, 1})), Verdict::kWrong);
  EXPECT_EQ(judge(mean(mean(rows, {1}), {0})), Verdict::kWrong);
  EXPECT_EQ(judge(sum(mean(rows, {0}))), Verdict::kWrong) << "over samples, then summed";
  EXPECT_EQ(judge(-mean(losses, {0})), Verdict::kWrong);
  EXPECT_EQ(judge(0.5 * mean(losses, {0})), Verdict::kWrong);
  EXPECT_EQ(judge(mean(losses, {0}) / 3.0), Verdict::kWrong);
  EXPECT_EQ(judge(reshape(mean(losses, {0}, true), Shape{})), Verdict::kWrong);
  EXPECT_EQ(judge(mean(reshape(rows, {-1}), {0})), Verdict::kWrong);
  EXPECT_EQ(judge(mean(transpose(rows, {1, 0}), {1, 0})), Verdict::kWrong);
  EXPECT_EQ(judge(convert(mean(convert(losses, DType::kBF16), {0}), DType::kF32)), Verdict::kWrong);
  EXPECT_EQ(judge(sum(losses) / samples), Verdict::kWrong);
  EXPECT_EQ(judge(sum(losses) / maximum(samples, 1.0)), Verdict::kWrong);
  EXPECT_EQ(judge(mean(losses, {0}) + 0.1 * mean(rows, {0, 1})), Verdict::kWrong);
  EXPECT_EQ(judge(mean(losses, {0}) + 0.01 * sum(w * w)), Verdict::kWrong) << "with a penalty";
  EXPECT_EQ(judge(mean(rows, {0, 1}), context.constant(24.0, DType::kI64)), Verdict::kWrong)
      << "as many as values";
}

TEST_F(TwiceDividedLoss, IsAMeanWithACountThatIsSummedOverSamples) {
  batch = masked;
  EXPECT_EQ(judge(mean(losses, {0})), Verdict::kWrong);
  const Tensor total = batch.masked_sum(exp(batch["x"]));
  EXPECT_EQ(judge(total / convert(batch.count(), DType::kF32)), Verdict::kRight)
      << "another count, of which nothing is known";
  const Tensor count = batch.count();
  EXPECT_EQ(judge(total / convert(count, DType::kF32), count), Verdict::kWrong);
  EXPECT_EQ(judge(total, count), Verdict::kRight);
}

TEST_F(TwiceDividedLoss, MayBeASumWithAWeight) {
  EXPECT_EQ(judge(sum(losses) / 6.0), Verdict::kDoubtful);
  EXPECT_EQ(judge(sum(losses) * (1.0 / 6)), Verdict::kDoubtful);
  EXPECT_EQ(judge((1.0 / 24) * sum(rows)), Verdict::kDoubtful);
  EXPECT_THAT(text, HasSubstr("a mean of 24 values over the micro-batch (unless the divisor is a "
                              "weight), and its count is 6,"));
}

TEST_F(TwiceDividedLoss, SaysWhereAndByHowMuchAndWhatToDo) {
  const int line = __LINE__ + 1;
  EXPECT_EQ(judge(mean(losses, {0})), Verdict::kWrong);
  EXPECT_EQ(text,
            fmt::format("twice_divided_test.cpp:{}: the sum of the loss is a mean of 6 values over "
                        "the micro-batch, and its count is 6, by which it is divided again: the "
                        "loss would be 6 times too small; return the sum of the values, "
                        "batch.masked_sum(values) or sum(values), or a count of 1, "
                        "x.context().constant(1.0, DType::kI64)",
                        line));
}

TEST_F(TwiceDividedLoss, IsNoneThatIsDividedOnce) {
  EXPECT_EQ(judge(sum(losses)), Verdict::kRight);
  EXPECT_EQ(judge(batch.masked_sum(losses)), Verdict::kRight);
  EXPECT_EQ(judge(mean(losses, {0}), one()), Verdict::kRight)
      << "a mean over the micro-batches' means";
  EXPECT_EQ(judge(sum(losses) / samples, one()), Verdict::kRight);
  EXPECT_EQ(judge(sum(mean(rows, {1}))), Verdict::kRight) << "a mean over steps, summed";
  EXPECT_EQ(judge(sum(mean(transpose(rows, {1, 0}), {0}))), Verdict::kRight);
  EXPECT_EQ(judge(batch.masked_sum(mean(rows, {1}, true))), Verdict::kRight);
  EXPECT_EQ(judge(mean(reduce_sum(rows, {0}), {0})), Verdict::kRight);
  EXPECT_EQ(judge(sum(rows) / 4.0), Verdict::kRight) << "by the number of steps";
  EXPECT_EQ(judge(0.5 * sum(losses)), Verdict::kRight);
  EXPECT_EQ(judge(sum(losses) * 0.1), Verdict::kRight);
  EXPECT_EQ(judge(6.0 * mean(losses, {0})), Verdict::kRight) << "a sum again";
  EXPECT_EQ(judge(mean(losses, {0}) * samples), Verdict::kRight);
  EXPECT_EQ(judge(sum(losses) + mean(rows, {0, 1})), Verdict::kRight) << "not all is a mean";
  const Tensor weight = context.scalar(0.5, DType::kF32, "weight");
  EXPECT_EQ(judge(mean(losses, {0}) * weight), Verdict::kRight) << "by who knows what";
  EXPECT_EQ(judge(sum(losses - mean(losses, {0}))), Verdict::kRight) << "a mean within";
  EXPECT_EQ(judge(mean(w, {0, 1})), Verdict::kRight) << "of what is no sample's";
  EXPECT_EQ(judge(exp(mean(losses, {0}))), Verdict::kRight) << "no multiple of a mean";
}

TEST_F(TwiceDividedLoss, IsNoneOfOneSample) {
  batch = Batch({{"x", input(Shape{1, kRunSteps}, InputKind::kBatch, "batch.x")}});
  const Tensor alone = exp(batch["x"]);
  EXPECT_EQ(judge(mean(alone, {0, 1})), Verdict::kRight) << "a mean over steps";
  EXPECT_EQ(judge(mean(alone, {0, 1}), context.constant(4.0, DType::kI64)), Verdict::kWrong);
}

}  // namespace
}  // namespace lockstep
