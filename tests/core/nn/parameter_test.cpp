#include "core/nn/parameter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace lockstep {
namespace {

std::vector<float> initial(const std::string& name, std::uint64_t seed, Initializer initializer,
                           const Shape& shape = {10000}) {
  const Parameter parameter{name, shape, ParameterKind::kMatrix, initializer, Tensor()};
  const HostTensor value = initial_value(parameter, seed);
  EXPECT_EQ(value.shape(), shape);
  const auto values = value.as<float>();
  return {values.begin(), values.end()};
}

struct Moments {
  double mean = 0;
  double deviation = 0;
};
Moments moments_of(const std::vector<float>& values) {
  Moments out;
  const auto n = static_cast<double>(values.size());
  for (const float v : values) out.mean += v / n;
  for (const float v : values) out.deviation += (v - out.mean) * (v - out.mean) / n;
  out.deviation = std::sqrt(out.deviation);
  return out;
}

TEST(InitialValue, DependsOnSeedAndNameOnly) {
  const Initializer normal = Initializer::normal(0.02);
  EXPECT_EQ(initial("h.0.attn", 1, normal), initial("h.0.attn", 1, normal));
  EXPECT_NE(initial("h.0.attn", 1, normal), initial("h.1.attn", 1, normal));
  EXPECT_NE(initial("h.0.attn", 1, normal), initial("h.0.attn", 2, normal));

  ParameterSet alone;
  ParameterSet among_others;
  among_others.declare("other", Shape{7}, ParameterKind::kMatrix, normal);
  const auto in = [&](ParameterSet& set) {
    const HostTensor value =
        initial_value(set.declare("w", Shape{4}, ParameterKind::kVector, normal), 1);
    return std::vector<float>(value.as<float>().begin(), value.as<float>().end());
  };
  EXPECT_EQ(in(alone), in(among_others));
}

TEST(InitialValue, HasTheAskedDistribution) {
  EXPECT_THAT(initial("b", 1, Initializer::constant(0.5), Shape{3}),
              testing::ElementsAre(0.5, 0.5, 0.5));

  const Moments normal = moments_of(initial("w", 1, Initializer::normal(0.02)));
  EXPECT_NEAR(normal.mean, 0, 4 * 0.02 / 100);
  EXPECT_NEAR(normal.deviation, 0.02, 4 * 0.02 / std::sqrt(2 * 10000.0));

  const std::vector<float> uniform = initial("w", 1, Initializer::uniform(0.3));
  EXPECT_GE(*std::min_element(uniform.begin(), uniform.end()), -0.3F);
  EXPECT_LT(*std::max_element(uniform.begin(), uniform.end()), 0.3F);
  EXPECT_NEAR(moments_of(uniform).deviation, 0.3 / std::sqrt(3), 0.003);
}

TEST(ParameterSet, KeepsTheOrderOfDeclarationAndCounts) {
  ParameterSet set;
  const Parameter& first =
      set.declare("b", Shape{3, 2}, ParameterKind::kMatrix, Initializer::constant(0));
  for (int i = 0; i < 100; ++i)
    set.declare(fmt::format("x{}", i), Shape{}, ParameterKind::kVector, Initializer::constant(0));
  EXPECT_EQ(&set.all().front(), &first) << "references stay valid";
  EXPECT_EQ(set.all()[1].name, "x0");
  EXPECT_EQ(set.elements(), 106);
}

TEST(ParameterSet, RefusesANameThatExistsAndAMissingValue) {
  ParameterSet set;
  const auto declare = [&] {
    set.declare("w", Shape{2}, ParameterKind::kMatrix, Initializer::constant(0));
  };
  declare();
  EXPECT_THAT(declare, testing::ThrowsMessage<Error>("parameter 'w' is declared twice"));
  EXPECT_THAT([&] { (void)set.values(); },
              testing::ThrowsMessage<Error>(
                  "parameter 'w' has no value yet: a Trainer or Session::initialize() "
                  "gives it"));
}

}  // namespace
}  // namespace lockstep
