#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/rng.h"
#include "tests/core/kernels/reference/evaluate.h"

namespace lockstep {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::Pointwise;

struct Options {
  bool causal = false;
  bool masked = false;
  double scale = 1;
  double dropout = 0;
};

constexpr std::int64_t kStream = 77;

Attrs attention(const Options& options) {
  Attrs attrs{{Attr::kCausal, {options.causal ? 1 : 0}},
              {Attr::kMasked, {options.masked ? 1 : 0}},
              {Attr::kStream, {kStream}}};
  attrs.set_float(Attr::kScale, options.scale);
  attrs.set_float(Attr::kDropout, options.dropout);
  return attrs;
}

/// B = H = D = 1: one number per position.
HostTensor sequence(const std::vector<double>& numbers) {
  return f64({1, static_cast<std::int64_t>(numbers.size()), 1, 1}, numbers);
}

TEST(ReferenceAttention, WeighsValuesBySoftmax) {
  const double w = std::exp(2.0) / (std::exp(2.0) + 1);  // scale * 1 * (log-odds 4)
  EXPECT_THAT(values(Op::kAttention, {sequence({1}), sequence({4, 0}), sequence({10, 20})},
                     attention({.scale = 0.5})),
              ElementsAre(DoubleNear(10 * w + 20 * (1 - w), 1e-14)));
}

TEST(ReferenceAttention, KeepsBatchesAndHeadsApart) {
  // [B=2,T=1,H=2,D=1]: one key each, so that the weight is 1 and the output is v.
  const HostTensor q = f64({2, 1, 2, 1}, {1, 2, 3, 4});
  const HostTensor v = f64({2, 1, 2, 1}, {5, 6, 7, 8});
  EXPECT_THAT(values(Op::kAttention, {q, q, v}, attention({})), ElementsAre(5, 6, 7, 8));
}

TEST(ReferenceAttention, CausalQueriesSeeTheirPast) {
  // Equal scores: the output is the mean of the visible values.
  const HostTensor keys = sequence({0, 0, 0});
  const HostTensor v = sequence({3, 6, 9});
  EXPECT_THAT(values(Op::kAttention, {sequence({1, 1, 1}), keys, v}, attention({.causal = true})),
              ElementsAre(3, 4.5, 6));
  // One query at the end of three keys sees all; two see two and three.
  EXPECT_THAT(values(Op::kAttention, {sequence({1}), keys, v}, attention({.causal = true})),
              ElementsAre(6));
  EXPECT_THAT(values(Op::kAttention, {sequence({1, 1}), keys, v}, attention({.causal = true})),
              ElementsAre(4.5, 6));
  // More queries than keys: the first sees nothing and gives 0.
  EXPECT_THAT(values(Op::kAttention, {sequence({1, 1}), sequence({0}), sequence({3})},
                     attention({.causal = true})),
              ElementsAre(0, 3));
}

TEST(ReferenceAttention, QueriesSeeTheirOwnSegment) {
  const HostTensor numbers = sequence({0, 0, 0, 0, 0});
  const HostTensor v = sequence({3, 6, 9, 12, 15});
  const auto segmented = [&](const std::vector<std::int32_t>& segments, bool causal) {
    return values(Op::kAttention, {numbers, numbers, v, HostTensor::of(Shape{1, 5}, segments)},
                  attention({.causal = causal, .masked = true}));
  };
  EXPECT_THAT(segmented({1, 1, 2, 2, 1}, false), ElementsAre(8, 8, 10.5, 10.5, 8));
  EXPECT_THAT(segmented({1, 1, 2, 2, 1}, true), ElementsAre(3, 4.5, 9, 10.5, 8));
  EXPECT_THAT(segmented({1, 0, 0, -1, -1}, false), ElementsAre(3, 0, 0, 0, 0));
}

TEST(ReferenceAttention, HidesMaskedKeys) {
  const HostTensor v = sequence({3, 6, 9});
  const auto masked = [&](const std::vector<double>& mask) {
    return values(Op::kAttention, {sequence({1}), sequence({0, 0, 0}), v, boolean({1, 3}, mask)},
                  attention({.masked = true}));
  };
  EXPECT_THAT(masked({1, 0, 1}), ElementsAre(6));
  EXPECT_THAT(masked({0, 1, 0}), ElementsAre(6));
  EXPECT_THAT(masked({0, 0, 0}), ElementsAre(0));
}

TEST(ReferenceAttention, TakesNoKeysAndNoDepth) {
  EXPECT_THAT(values(Op::kAttention, {sequence({1, 2}), sequence({}), sequence({})}, attention({})),
              ElementsAre(0, 0));
  EXPECT_TRUE(
      values(Op::kAttention, {sequence({}), sequence({1}), sequence({1})}, attention({})).empty());
}

TEST(ReferenceAttention, SurvivesLargeScores) {
  EXPECT_THAT(values(Op::kAttention, {sequence({1000}), sequence({1000, 0}), sequence({3, 5})},
                     attention({})),
              ElementsAre(3));
}

TEST(ReferenceAttention, DropsWeightsByTheirPosition) {
  const double rate = 0.4;
  const std::int64_t length = 5;
  const HostTensor x = sequence(std::vector<double>(length, 0.0));
  const HostTensor v = sequence({1, 10, 100, 1000, 10000});
  const std::vector<double> out =
      values(Op::kAttention, {x, x, v, i64_scalar(3), i64_scalar(4), i64_scalar(5)},
             attention({.dropout = rate}));
  const RngKey key{.seed = 3, .stream = kStream, .step = 4, .micro_batch = 5};
  int dropped = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    double expected = 0;
    for (std::int64_t j = 0; j < length; ++j) {
      const auto position = static_cast<std::uint64_t>(i * length + j);
      const bool drop = uniform_from_bits(random_word(key, position)) < rate;
      dropped += drop ? 1 : 0;
      if (!drop) expected += std::pow(10.0, static_cast<double>(j)) / 5 / (1 - rate);
    }
    EXPECT_THAT(out[static_cast<std::size_t>(i)], DoubleNear(expected, 1e-9));
  }
  EXPECT_GT(dropped, 0);
  EXPECT_LT(dropped, 25);
}

HostTensor ramp(Shape shape, double step) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    out.push_back(std::sin(step * static_cast<double>(i + 1)));
  return f64(shape, out);
}

/// d<out, dout>/d(element) by central differences against the gradient op, over q, k and v.
void check_gradient(const Options& options, std::int64_t queries, std::int64_t keys) {
  std::vector<HostTensor> in = {ramp({2, queries, 2, 3}, 0.7), ramp({2, keys, 2, 3}, 1.3),
                                ramp({2, keys, 2, 3}, 2.1)};
  std::vector<HostTensor> others;
  if (options.masked) {
    std::vector<double> mask(static_cast<std::size_t>(2 * keys), 1.0);
    mask[0] = 0;
    others.push_back(boolean({2, keys}, mask));
  }
  if (options.dropout > 0)
    for (const std::int64_t number : {11, 12, 13}) others.push_back(i64_scalar(number));
  const HostTensor dout = ramp(in[0].shape(), 0.9);
  const auto forward = [&] {
    std::vector<HostTensor> operands = in;
    operands.insert(operands.end(), others.begin(), others.end());
    return evaluate(Op::kAttention, operands, attention(options));
  };
  const auto objective = [&] {
    const std::vector<double> y = to_doubles(forward());
    const std::vector<double> dy = to_doubles(dout);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
    return sum;
  };
  std::vector<HostTensor> operands = {in[0], in[1], in[2], forward(), dout};
  operands.insert(operands.end(), others.begin(), others.end());
  const std::vector<double> gradient = values(Op::kAttentionGrad, operands, attention(options));
  std::vector<double> expected;
  for (const HostTensor& x : in)
    for (double& element : x.as<double>()) {
      const double old = element;
      const double h = 1e-5;
      element = old + h;
      const double above = objective();
      element = old - h;
      expected.push_back((above - objective()) / (2 * h));
      element = old;
    }
  EXPECT_THAT(gradient, Pointwise(DoubleNear(1e-8), expected));
}

TEST(ReferenceAttentionGrad, MatchesDifferences) {
  check_gradient({.scale = 0.6}, 3, 4);
  check_gradient({.causal = true, .scale = 0.6}, 4, 3);
  check_gradient({.masked = true, .scale = 0.6}, 3, 2);
  check_gradient({.causal = true, .masked = true, .scale = 0.6, .dropout = 0.3}, 3, 4);
}

TEST(ReferenceAttentionGrad, IsZeroWhereNothingIsVisible) {
  const HostTensor x = sequence({1, 2});
  EXPECT_THAT(values(Op::kAttentionGrad, {x, x, x, x, x, boolean({1, 2}, {0, 0})},
                     attention({.masked = true})),
              Each(0.0));
}

}  // namespace
}  // namespace lockstep
