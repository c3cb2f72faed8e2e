// The losses of text models and their gradients, where some targets do not count.
#include <gtest/gtest.h>

#include "core/trace/functions.h"
#include "tests/fixtures/central_differences.h"
#include "trainer/models/parts/text_model.h"

namespace lockstep {
namespace {

struct TextLoss : testing::Test {
  Tensor value(const HostTensor& tensor, const std::string& name) {
    return context.tensor(std::make_shared<HostScalar>(tensor), InputKind::kParameter, name);
  }
  Tensor logits() {
    std::vector<float> elements;
    for (int i = 0; i < 24; ++i) elements.push_back(static_cast<float>(std::sin(1.7 * i)));
    return value(HostTensor::of(Shape{2, 3, 4}, elements), "logits");
  }
  Tensor targets(const std::vector<std::int32_t>& elements) {
    return value(HostTensor::of(Shape{2, 3}, elements), "targets");
  }

  TraceContext context;
};

TEST_F(TextLoss, HasTheGradientOfTheTokensThatCount) {
  const Tensor scores = logits();
  const Batch batch({{"targets", targets({3, -100, 0, -100, -100, 2})}});
  const Loss loss = chosen_token_loss(scores, batch);
  EXPECT_EQ(find_gradient_error(loss.sum, {scores}), "");
}

TEST_F(TextLoss, HasTheGradientOfTheSamplesThatCount) {
  const Tensor scores = logits();
  const Tensor mask = value(HostTensor::of(Shape{2}, std::vector<float>{1, 0}), "mask");
  const Batch batch({{"targets", targets({3, -100, 0, 1, -100, 2})}, {"mask", mask}});
  const Loss loss = chosen_token_loss(scores, batch);
  EXPECT_EQ(find_gradient_error(loss.sum, {scores}), "");
}

TEST_F(TextLoss, HasTheGradientOfAllTokens) {
  const Tensor scores = logits();
  const Loss loss = token_loss(scores, Batch({{"targets", targets({3, 1, 0, 1, 1, 2})}}));
  EXPECT_EQ(find_gradient_error(loss.sum, {scores}), "");
}

}  // namespace
}  // namespace lockstep
