// User functions against their formulas.
#include "core/trace/functions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/trace/context.h"
#include "tests/core/trace/inputs.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

const std::vector<float> kX = {-3, -1, -0.25, 0, 0.5, 2};

std::vector<float> apply(const std::function<Tensor(const Tensor&)>& f, const std::vector<float>& x,
                         const Shape& shape) {
  TraceContext context;
  const Tensor y = f(input_of(context, x, shape));
  evaluate(context);
  return values_of(y.to_host());
}

void expect_elementwise(const std::function<Tensor(const Tensor&)>& f,
                        const std::function<double(double)>& formula) {
  std::vector<float> expected;
  for (const float x : kX) expected.push_back(static_cast<float>(formula(x)));
  EXPECT_THAT(apply(f, kX, Shape{6}), Pointwise(FloatNear(1e-6F), expected));
}

TEST(Activation, FollowsItsFormula) {
  expect_elementwise([](const Tensor& x) { return relu(x); },
                     [](double x) { return std::max(x, 0.0); });
  expect_elementwise([](const Tensor& x) { return sigmoid(x); },
                     [](double x) { return 1 / (1 + std::exp(-x)); });
  expect_elementwise([](const Tensor& x) { return gelu(x); },
                     [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); });
  expect_elementwise([](const Tensor& x) { return gelu_tanh(x); },
                     [](double x) {
                       const double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
                       return 0.5 * x * (1 + std::tanh(inner));
                     });
}

TEST(Softplus, KeepsTheDigitsOfSmallResultsAndDoesNotOverflow) {
  const std::vector<float> x = {-80, -50, -17, -3, 0, 3, 17, 50, 200};
  const std::vector<float> y = apply([](const Tensor& t) { return softplus(t); }, x, Shape{9});
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = std::log1p(std::exp(double{x[i]}));
    EXPECT_NEAR(y[i], expected, 1e-6 * expected) << x[i];
  }
}

TEST(RandomNormal, HasTheMomentsOfTheNormalDistribution) {
  TraceContext context;
  const auto number = [&](std::int64_t value) {
    return context.constant(HostTensor::scalar<std::int64_t>(value));
  };
  constexpr std::int64_t kCount = 100'000;
  const Tensor drawn = random_normal({number(3), number(0), number(0)}, Shape{kCount});
  evaluate(context);
  double first = 0, second = 0, fourth = 0;
  for (const float x : values_of(drawn.to_host())) {
    first += x;
    second += double{x} * x;
    fourth += std::pow(x, 4);
  }
  // Five standard deviations of each mean: those of x, x^2 and x^4 are 1, sqrt(2) and sqrt(96).
  const double five = 5 / std::sqrt(static_cast<double>(kCount));
  EXPECT_NEAR(first / kCount, 0, five);
  EXPECT_NEAR(second / kCount, 1, five * std::sqrt(2));
  EXPECT_NEAR(fourth / kCount, 3, five * std::sqrt(96));
}

TEST(Softmax, SumsToOneAndSurvivesLargeLogits) {
  EXPECT_THAT(apply([](const Tensor& x) { return softmax(x, 1); }, {0, std::log(3.0F), 1000, 1000},
                    Shape{2, 2}),
              Pointwise(FloatNear(1e-6F), {0.25F, 0.75F, 0.5F, 0.5F}));
}

TEST(LogSoftmax, IsTheLogarithmOfSoftmax) {
  EXPECT_THAT(apply([](const Tensor& x) { return log_softmax(x, 0); }, {0, std::log(3.0F), -1000},
                    Shape{3}),
              Pointwise(FloatNear(1e-4F), {std::log(0.25F), std::log(0.75F), -1001.3863F}));
}

TEST(LayerNorm, NormalizesTheLastDimension) {
  TraceContext context;
  const Tensor y =
      layer_norm(input_of(context, {1, 3, 10, 30}, Shape{2, 2}),
                 input_of(context, {2, 2}, Shape{2}), input_of(context, {5, 5}, Shape{2}), 0.0);
  evaluate(context);
  EXPECT_THAT(values_of(y.to_host()), ElementsAre(3, 7, 3, 7));
}

TEST(CrossEntropy, IsMinusTheLogProbabilityOfTheTarget) {
  TraceContext context;
  const Tensor logits =
      input_of(context, {0, std::log(3.0F), 0, std::log(3.0F), 7, 7}, Shape{3, 2});
  const Tensor targets =
      context.constant(HostTensor::of(Shape{3}, std::vector<std::int32_t>{0, 1, -100}));
  const Tensor loss = cross_entropy(logits, targets);
  const Tensor correct = correct_predictions(logits, targets);
  evaluate(context);
  EXPECT_THAT(values_of(loss.to_host()),
              Pointwise(FloatNear(1e-6F), {-std::log(0.25F), -std::log(0.75F), 0.0F}));
  EXPECT_THAT(values_of(correct.to_host()), ElementsAre(0, 1, 0));
}

TEST(Mean, DividesByTheNumberOfReducedElements) {
  EXPECT_THAT(apply(
                  [](const Tensor& x) {
                    return mean(x, {0, 1});
                  },
                  {1, 2, 3, 4, 5, 9}, Shape{2, 3}),
              ElementsAre(4));
}

/// f of bf16 arguments is f of the same numbers in f32, rounded once.
void expect_rounded_once(const std::function<Tensor(const Tensor&)>& f) {
  TraceContext context;
  const Tensor x =
      convert(input_of(context, {-3, -1, -0.3F, 0, 0.7F, 2}, Shape{2, 3}), DType::kBF16);
  const Tensor y = f(x);
  const Tensor expected = convert(f(convert(x, DType::kF32)), DType::kBF16);
  const Tensor wide = convert(y, DType::kF32);
  const Tensor wide_expected = convert(expected, DType::kF32);
  EXPECT_EQ(y.dtype(), DType::kBF16);
  evaluate(context);
  EXPECT_EQ(values_of(wide.to_host()), values_of(wide_expected.to_host()));
}

TEST(Functions, OfBf16AreComputedInF32AndRoundedOnce) {
  expect_rounded_once([](const Tensor& x) { return relu(x); });
  expect_rounded_once([](const Tensor& x) { return sigmoid(x); });
  expect_rounded_once([](const Tensor& x) { return gelu(x); });
  expect_rounded_once([](const Tensor& x) { return gelu_tanh(x); });
  expect_rounded_once([](const Tensor& x) { return softmax(x, 1); });
  expect_rounded_once([](const Tensor& x) { return log_softmax(x, 0); });
  expect_rounded_once([](const Tensor& x) { return mean(x, {1}); });
  expect_rounded_once([](const Tensor& x) {
    const Tensor weight = input_of(x.context(), {1.1F, 2.2F, 3.3F}, Shape{3});
    return layer_norm(x, weight, weight);
  });
}

TEST(CrossEntropy, OfBf16LogitsIsInF32) {
  TraceContext context;
  const Tensor logits =
      convert(input_of(context, {0, 1.1F, 2.3F, 0.7F}, Shape{2, 2}), DType::kBF16);
  const Tensor targets =
      context.constant(HostTensor::of(Shape{2}, std::vector<std::int32_t>{0, 1}));
  const Tensor loss = cross_entropy(logits, targets);
  const Tensor expected = cross_entropy(convert(logits, DType::kF32), targets);
  EXPECT_EQ(loss.type().to_string(), "f32[2]");
  evaluate(context);
  EXPECT_EQ(values_of(loss.to_host()), values_of(expected.to_host()));
}

TEST(Linear, OfBf16TakesF32Parameters) {
  TraceContext context;
  const Tensor x = convert(input_of(context, {1, 2}, Shape{1, 2}), DType::kBF16);
  const Tensor w = input_of(context, {1, 100}, Shape{1, 2});
  const Tensor b = input_of(context, {0.4F}, Shape{1});
  const Tensor y = linear(x, w, &b, true);
  EXPECT_EQ(y.type().to_string(), "bf16[1,1]");
  const Tensor wide = convert(y, DType::kF32);
  evaluate(context);
  EXPECT_THAT(values_of(wide.to_host()), ElementsAre(201)) << "201.4, rounded to 8 bits";
}

TEST(Linear, TakesEitherLayoutOfTheWeight) {
  TraceContext context;
  const Tensor x = input_of(context, {1, 2}, Shape{1, 2});
  const Tensor w = input_of(context, {1, 10, 100, 1000}, Shape{2, 2});
  const Tensor b = input_of(context, {0.5, 0.25}, Shape{2});
  const Tensor as_pytorch = linear(x, w, &b, true);
  const Tensor as_gpt2 = linear(x, w, nullptr, false);
  evaluate(context);
  EXPECT_THAT(values_of(as_pytorch.to_host()), ElementsAre(21.5, 2100.25));
  EXPECT_THAT(values_of(as_gpt2.to_host()), ElementsAre(201, 2010));
}

struct DropoutFunction : testing::Test {
  /// `given`: the probability is a value of the run, not of the program.
  std::vector<float> drop(std::int64_t step, std::int64_t micro_batch, double p = 0.25,
                          bool given = false) {
    TraceContext context;
    const auto number = [&](std::int64_t n) {
      return context.scalar(static_cast<double>(n), DType::kI64, "n");
    };
    const std::vector<float> ones(10000, 1.0F);
    const Tensor x = input_of(context, ones, Shape{10000});
    const RandomKey key{number(7), number(step), number(micro_batch)};
    const Tensor y =
        given ? dropout(x, context.scalar(p, DType::kF32, "p"), key) : dropout(x, p, key);
    evaluate(context);
    return values_of(y.to_host());
  }
};

TEST_F(DropoutFunction, IsTheSameByAProbabilityThatMayChange) {
  EXPECT_EQ(drop(3, 1, 0.25, true), drop(3, 1, 0.25));
  EXPECT_EQ(drop(3, 1, 0, true), std::vector<float>(10000, 1.0F));
}

TEST_F(DropoutFunction, KeepsTheExpectedShareAndScalesIt) {
  const std::vector<float> y = drop(0, 0);
  const auto kept = std::count(y.begin(), y.end(), static_cast<float>(1 / 0.75));
  const auto dropped = std::count(y.begin(), y.end(), 0.0F);
  EXPECT_EQ(kept + dropped, 10000);
  EXPECT_NEAR(static_cast<double>(kept), 7500, 4 * std::sqrt(10000 * 0.25 * 0.75));
}

TEST_F(DropoutFunction, IsTheSameForTheSameKeyAndDiffersBetweenStepsAndMicroBatches) {
  EXPECT_EQ(drop(3, 1), drop(3, 1));
  EXPECT_NE(drop(3, 1), drop(4, 1));
  EXPECT_NE(drop(3, 1), drop(3, 2));
}

TEST_F(DropoutFunction, RefusesAProbabilityOfOne) {
  EXPECT_THAT(error_of([&] { drop(0, 0, 1.0); }),
              testing::HasSubstr("dropout probability 1 must be in [0, 1)"));
}

TEST(RandomUniform, IsInTheUnitInterval) {
  TraceContext context;
  const Tensor n = context.scalar(1, DType::kI64, "n");
  const Tensor u = random_uniform({n, n, n}, Shape{10000});
  evaluate(context);
  const std::vector<float> values = values_of(u.to_host());
  EXPECT_GE(*std::min_element(values.begin(), values.end()), 0.0F);
  EXPECT_LT(*std::max_element(values.begin(), values.end()), 1.0F);
  double total = 0;
  for (const float v : values) total += v;
  EXPECT_NEAR(total / 10000, 0.5, 4 / std::sqrt(12.0 * 10000));
}

}  // namespace
}  // namespace lockstep
