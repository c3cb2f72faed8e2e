#include "core/passes/absorb_scales.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "core/kernels/reference/reference.h"
#include "tests/core/passes/pass_text.h"
#include "tests/roundoff/roundoff.h"

namespace lockstep {
namespace {

TEST(AbsorbScales, WhatIsLeftOfANormIsOneAddition) {
  EXPECT_BECOMES(absorb_scales, R"(
    %x = f32[2,3,16,16] input()
    %w = f32[4,3,3,3] input()
    %y = f32[2,4,16,16] convolution(%x, %w) {stride=[1,1], padding=[1,1,1,1], dilation=[1,1], groups=1}
    %m = f32[4] input() %f = f32[4] input() %b = f32[4] input()
    %means = f32[2,4,16,16] broadcast(%m) {shape=[2,4,16,16], dims=[1]}
    %centered = f32[2,4,16,16] subtract(%y, %means)
    %factors = f32[2,4,16,16] broadcast(%f) {shape=[2,4,16,16], dims=[1]}
    %scaled = f32[2,4,16,16] multiply(%centered, %factors)
    %biases = f32[2,4,16,16] broadcast(%b) {shape=[2,4,16,16], dims=[1]}
    %z = f32[2,4,16,16] add(%scaled, %biases)
    %r = f32[2,4,16,16] exp(%z)
    return %r, %z)",
                 R"(
    %x = f32[2,3,16,16] input()
    %w = f32[4,3,3,3] input()
    %m = f32[4] input() %f = f32[4] input() %b = f32[4] input()
    %mf = f32[4] multiply(%m, %f)
    %rest = f32[4] subtract(%b, %mf)
    %factors = f32[4,3,3,3] broadcast(%f) {shape=[4,3,3,3], dims=[0]}
    %v = f32[4,3,3,3] multiply(%w, %factors)
    %y = f32[2,4,16,16] convolution(%x, %v) {stride=[1,1], padding=[1,1,1,1], dilation=[1,1], groups=1}
    %rests = f32[2,4,16,16] broadcast(%rest) {shape=[2,4,16,16], dims=[1]}
    %z = f32[2,4,16,16] add(%y, %rests)
    %r = f32[2,4,16,16] exp(%z)
    return %r, %z)");
}

TEST(AbsorbScales, AMeanWithoutABiasIsStillSubtracted) {
  EXPECT_BECOMES(absorb_scales, R"(
    %x = f32[2,1,8,8] input()
    %w = f32[4,1,1,1] input()
    %m = f32[4] input() %f = f32[4] input()
    %y = f32[2,4,8,8] convolution(%x, %w) {stride=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1}
    %means = f32[2,4,8,8] broadcast(%m) {shape=[2,4,8,8], dims=[1]}
    %centered = f32[2,4,8,8] subtract(%y, %means)
    %factors = f32[2,4,8,8] broadcast(%f) {shape=[2,4,8,8], dims=[1]}
    %z = f32[2,4,8,8] multiply(%factors, %centered)
    return %z)",
                 R"(
    %x = f32[2,1,8,8] input()
    %w = f32[4,1,1,1] input()
    %m = f32[4] input() %f = f32[4] input()
    %mf = f32[4] multiply(%m, %f)
    %factors = f32[4,1,1,1] reshape(%f) {shape=[4,1,1,1]}
    %v = f32[4,1,1,1] multiply(%w, %factors)
    %y = f32[2,4,8,8] convolution(%x, %v) {stride=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1}
    %rests = f32[2,4,8,8] broadcast(%mf) {shape=[2,4,8,8], dims=[1]}
    %z = f32[2,4,8,8] subtract(%y, %rests)
    return %z)");
}

TEST(AbsorbScales, WeightsInBf16AreRoundedOnceAsBefore) {
  EXPECT_BECOMES(absorb_scales, R"(
    %x = bf16[2,3,16,16] input()
    %w = f32[4,3,3,3] input()
    %f = f32[4] input()
    %h = bf16[4,3,3,3] convert(%w) {to=bf16}
    %y = bf16[2,4,16,16] convolution(%x, %h) {stride=[1,1], padding=[1,1,1,1], dilation=[1,1], groups=1}
    %wide = f32[2,4,16,16] convert(%y) {to=f32}
    %factors = f32[2,4,16,16] broadcast(%f) {shape=[2,4,16,16], dims=[1]}
    %z = f32[2,4,16,16] multiply(%wide, %factors)
    %o = bf16[2,4,16,16] convert(%z) {to=bf16}
    return %o)",
                 R"(
    %x = bf16[2,3,16,16] input()
    %w = f32[4,3,3,3] input()
    %f = f32[4] input()
    %factors = f32[4,3,3,3] broadcast(%f) {shape=[4,3,3,3], dims=[0]}
    %v = f32[4,3,3,3] multiply(%w, %factors)
    %h = bf16[4,3,3,3] convert(%v) {to=bf16}
    %y = bf16[2,4,16,16] convolution(%x, %h) {stride=[1,1], padding=[1,1,1,1], dilation=[1,1], groups=1}
    %wide = f32[2,4,16,16] convert(%y) {to=f32}
    %o = bf16[2,4,16,16] convert(%wide) {to=bf16}
    return %o)");
}

TEST(AbsorbScales, LeavesWeightsThatCameRounded) {
  EXPECT_STAYS(absorb_scales, R"(
    %x = bf16[2,3,16,16] input()
    %w = bf16[4,3,3,3] input()
    %f = f32[4] input()
    %y = bf16[2,4,16,16] convolution(%x, %w) {stride=[1,1], padding=[1,1,1,1], dilation=[1,1], groups=1}
    %wide = f32[2,4,16,16] convert(%y) {to=f32}
    %factors = f32[2,4,16,16] broadcast(%f) {shape=[2,4,16,16], dims=[1]}
    %z = f32[2,4,16,16] multiply(%wide, %factors)
    return %z)");
}

TEST(AbsorbScales, EachChannelOfAGroupHasItsOwnFactor) {
  EXPECT_BECOMES(absorb_scales, R"(
    %x = f32[2,4,32,32] input()
    %w = f32[6,2,3,3] input()
    %f = f32[6] input()
    %y = f32[2,6,16,16] convolution(%x, %w) {stride=[2,2], padding=[1,0,1,0], dilation=[1,1], groups=2}
    %factors = f32[2,6,16,16] broadcast(%f) {shape=[2,6,16,16], dims=[1]}
    %z = f32[2,6,16,16] multiply(%y, %factors)
    return %z)",
                 R"(
    %x = f32[2,4,32,32] input()
    %w = f32[6,2,3,3] input()
    %f = f32[6] input()
    %factors = f32[6,2,3,3] broadcast(%f) {shape=[6,2,3,3], dims=[0]}
    %v = f32[6,2,3,3] multiply(%w, %factors)
    %z = f32[2,6,16,16] convolution(%x, %v) {stride=[2,2], padding=[1,0,1,0], dilation=[1,1], groups=2}
    return %z)");
}

// As a training step does, whose programs must stay as they are.
TEST(AbsorbScales, LeavesAResultWhoseStatisticsAreTaken) {
  EXPECT_STAYS(absorb_scales, R"(
    %x = f32[2,3,16,16] input()
    %w = f32[4,3,3,3] input()
    %m = f32[4] input() %f = f32[4] input()
    %y = f32[2,4,16,16] convolution(%x, %w) {stride=[1,1], padding=[1,1,1,1], dilation=[1,1], groups=1}
    %s = f32[4] reduce_sum(%y) {dims=[0,2,3]}
    %means = f32[2,4,16,16] broadcast(%m) {shape=[2,4,16,16], dims=[1]}
    %centered = f32[2,4,16,16] subtract(%y, %means)
    %factors = f32[2,4,16,16] broadcast(%f) {shape=[2,4,16,16], dims=[1]}
    %z = f32[2,4,16,16] multiply(%centered, %factors)
    return %z, %s)");
}

// The gradient of a factor that is trained behind frozen statistics.
TEST(AbsorbScales, LeavesWhatIsReadBeforeItIsScaled) {
  EXPECT_STAYS(absorb_scales, R"(
    %x = f32[2,3,16,16] input()
    %w = f32[4,3,3,3] input()
    %dz = f32[2,4,16,16] input()
    %m = f32[4] input() %f = f32[4] input()
    %y = f32[2,4,16,16] convolution(%x, %w) {stride=[1,1], padding=[1,1,1,1], dilation=[1,1], groups=1}
    %means = f32[2,4,16,16] broadcast(%m) {shape=[2,4,16,16], dims=[1]}
    %centered = f32[2,4,16,16] subtract(%y, %means)
    %factors = f32[2,4,16,16] broadcast(%f) {shape=[2,4,16,16], dims=[1]}
    %z = f32[2,4,16,16] multiply(%centered, %factors)
    %p = f32[2,4,16,16] multiply(%dz, %centered)
    %df = f32[4] reduce_sum(%p) {dims=[0,2,3]}
    return %z, %df)");
}

TEST(AbsorbScales, LeavesAnOutput) {
  EXPECT_STAYS(absorb_scales, R"(
    %x = f32[2,3,16,16] input()
    %w = f32[4,3,3,3] input()
    %f = f32[4] input()
    %y = f32[2,4,16,16] convolution(%x, %w) {stride=[1,1], padding=[1,1,1,1], dilation=[1,1], groups=1}
    %factors = f32[2,4,16,16] broadcast(%f) {shape=[2,4,16,16], dims=[1]}
    %z = f32[2,4,16,16] multiply(%y, %factors)
    return %y, %z)");
}

TEST(AbsorbScales, LeavesFactorsOfOtherDimensions) {
  EXPECT_STAYS(absorb_scales, R"(
    %x = f32[4,3,16,16] input()
    %w = f32[4,3,3,3] input() %v = f32[4,4,1,1] input()
    %f = f32[4] input() %g = f32[4,4] input()
    %y = f32[4,4,16,16] convolution(%x, %w) {stride=[1,1], padding=[1,1,1,1], dilation=[1,1], groups=1}
    %factors = f32[4,4,16,16] broadcast(%f) {shape=[4,4,16,16], dims=[0]}
    %z = f32[4,4,16,16] multiply(%y, %factors)
    %a = f32[4,4,16,16] convolution(%z, %v) {stride=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1}
    %gates = f32[4,4,16,16] broadcast(%g) {shape=[4,4,16,16], dims=[0,1]}
    %b = f32[4,4,16,16] multiply(%a, %gates)
    return %b)");
}

TEST(AbsorbScales, LeavesABiasThatNothingScales) {
  EXPECT_STAYS(absorb_scales, R"(
    %x = f32[2,3,16,16] input()
    %w = f32[4,3,3,3] input()
    %b = f32[4] input()
    %y = f32[2,4,16,16] convolution(%x, %w) {stride=[1,1], padding=[1,1,1,1], dilation=[1,1], groups=1}
    %biases = f32[2,4,16,16] broadcast(%b) {shape=[2,4,16,16], dims=[1]}
    %z = f32[2,4,16,16] add(%y, %biases)
    return %z)");
}

/// A weight of which height * 8 results are made.
std::string pointwise(int height) {
  const std::string shape = fmt::format("[1,1,{},8]", height);
  return fmt::format(R"(
    %x = f32{0} input() %w = f32[1,1,1,1] input() %f = f32[1] input()
    %y = f32{0} convolution(%x, %w) {{stride=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1}}
    %factors = f32{0} broadcast(%f) {{shape={0}, dims=[1]}}
    %z = f32{0} multiply(%y, %factors)
    return %z)",
                     shape);
}

TEST(AbsorbScales, LeavesWeightsOfWhichFewResultsAreMade) {
  static_assert(kMinResultsPerWeight == 16);
  EXPECT_STAYS(absorb_scales, pointwise(1));
  EXPECT_NE(testing::after(absorb_scales, pointwise(2)), testing::normal(pointwise(2)));
}

/// A convolution, and steps with a number a channel behind it.
struct Scaled {
  std::vector<Op> steps;
  Shape image, weights;
  std::int64_t groups = 1;
  bool in_bf16 = false;  ///< images, and the weights once they are converted

  double terms() const { return static_cast<double>(weights.elements() / weights[0]); }

  Graph graph(bool of_magnitudes = false) const {
    Graph out;
    const auto stored = in_bf16 ? DType::kBF16 : DType::kF32;
    const auto convert = [&](ValueId id, DType to) {
      Attrs attrs;
      attrs.set_dtype(to);
      return in_bf16 ? out.add(Op::kConvert, {id}, attrs) : id;
    };
    const ValueId x = out.add_input({stored, image}, InputKind::kBatch, "x");
    const ValueId w = out.add_input({DType::kF32, weights}, InputKind::kParameter, "w");
    ValueId value = out.add(Op::kConvolution, {x, convert(w, stored)},
                            {{Attr::kStride, {1, 1}},
                             {Attr::kPadding, {1, 1, 1, 1}},
                             {Attr::kDilation, {1, 1}},
                             {Attr::kGroups, {groups}}});
    value = convert(value, DType::kF32);
    const Shape shape = out[value].type.shape;
    for (const Op step : steps) {
      const ValueId numbers =
          out.add_input({DType::kF32, Shape{weights[0]}}, InputKind::kState, "numbers");
      const ValueId repeated =
          out.add(Op::kBroadcast, {numbers}, {{Attr::kShape, shape.sizes()}, {Attr::kDims, {1}}});
      const bool adds = of_magnitudes && step == Op::kSubtract;
      value = out.add(adds ? Op{Op::kAdd} : step, {value, repeated});
    }
    out.outputs.push_back(value);
    return out;
  }
};

Scaled random_scaled() {
  Scaled out;
  out.groups = *rc::gen::element<std::int64_t>(1, 2, 3);
  const auto side = [] { return *rc::gen::inRange<std::int64_t>(1, 4); };
  const std::int64_t inputs = side(), outputs = side();
  out.image = Shape{2, out.groups * inputs, 16, 17};
  out.weights = Shape{out.groups * outputs, inputs, side(), side()};
  out.in_bf16 = *rc::gen::arbitrary<bool>();
  out.steps = *rc::gen::container<std::vector<Op>>(
      rc::gen::element<Op>(Op::kAdd, Op::kSubtract, Op::kMultiply));
  out.steps.push_back(Op::kMultiply);
  if (*rc::gen::arbitrary<bool>()) out.steps.push_back(Op::kAdd);
  return out;
}

// The bound of absorb_scales.h, before and after. What it multiplies is the result for magnitudes.
TEST(AbsorbScales, StaysWithinItsBound) {
  EXPECT_TRUE(rc::check([](std::uint32_t seed) {
    const Scaled scaled = random_scaled();
    const Graph before = scaled.graph();
    const Graph after = absorb_scales(before, Target{});
    RC_ASSERT(print(after) != print(before));
    std::mt19937 random(seed);
    std::vector<HostTensor> inputs, wide, magnitudes;
    for (const ValueId id : before.inputs) {
      const Type& type = before[id].type;
      std::vector<double> x(static_cast<std::size_t>(type.elements()));
      for (double& v : x) v = std::uniform_real_distribution<double>(-2, 2)(random);
      inputs.push_back(from_doubles(type.dtype, type.shape, x));
      x = to_doubles(inputs.back());
      wide.push_back(from_doubles(DType::kF64, type.shape, x));
      for (double& v : x) v = std::abs(v);
      magnitudes.push_back(from_doubles(DType::kF64, type.shape, x));
    }
    const auto exact = to_doubles(evaluate_reference(to_f64(before), wide)[0]);
    const auto most = to_doubles(evaluate_reference(to_f64(scaled.graph(true)), magnitudes)[0]);
    const double roundings = scaled.terms() + static_cast<double>(scaled.steps.size()) + 1;
    const double bound = gamma(roundings, roundoff_of(DType::kF32)) +
                         (scaled.in_bf16 ? gamma(2, roundoff_of(DType::kBF16)) : 0);
    for (const Graph* graph : {&before, &after}) {
      const auto found = to_doubles(evaluate_reference(*graph, inputs)[0]);
      for (std::size_t i = 0; i < found.size(); ++i)
        RC_ASSERT(std::abs(found[i] - exact[i]) <= bound * most[i]);
    }
    // And the algebra itself, where nothing rounds.
    const auto same = to_doubles(evaluate_reference(to_f64(after), wide)[0]);
    const double tiny = gamma(2 * roundings, roundoff_of(DType::kF64));
    for (std::size_t i = 0; i < same.size(); ++i)
      RC_ASSERT(std::abs(same[i] - exact[i]) <= tiny * most[i]);
  }));
}

}  // namespace
}  // namespace lockstep
