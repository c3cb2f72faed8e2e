// Layers on numbers that can be checked by hand.
#include "core/nn/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/base/error.h"
#include "core/nn/norm.h"
#include "core/trace/mode.h"
#include "tests/core/nn/layer_fixture.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

using Layers = LayerTest;

/// A module of a user's, which names what it records itself.
struct Doubling : Module {
  using Module::Module;
  Tensor operator()(const Tensor& x) const {
    const ModuleScope scope = enter(x);
    line = __LINE__ + 1;
    return tanh(fc(x * 2.0));
  }
  Linear fc{*this, "fc", 2, 2};
  mutable int line = 0;
};

TEST_F(Layers, AModuleThatIsEnteredKeepsTheLinesOfItsOps) {
  const Doubling module(root, "h");
  value_of_parameter("h.fc.weight") = counting(Shape{2, 2});
  value_of_parameter("h.fc.bias") = counting(Shape{2});
  const Tensor y = module(counting(Shape{1, 2}));
  std::set<std::string> places;
  for (const Node& node : context.pending().nodes)
    if (node.op != Op::kInput) places.insert(node.origin.to_string());
  const std::string line = fmt::format("layers_test.cpp:{}", module.line);
  EXPECT_THAT(places, ElementsAre(line + " (h)", line + " (h.fc)"));
}

struct Running : Module {
  using Module::Module;
  ModuleBuffer& mean = buffer("mean", HostTensor::of(Shape{2}, std::vector<float>{0, 0}));
};

TEST_F(Layers, ABufferThatIsBlendedHasTheLineOfThatInTheUpdate) {
  Running running(root, "h");
  const Tensor x = counting(Shape{2});
  {
    const ModeScope training(context, {.training = true});
    running.mean.blend(x, 0.1);
  }
  const int line = __LINE__ - 2;
  const ModuleScope scope(context, "update");
  const Tensor next = running.mean.take_updates().at(0).rule(x, x);
  expect_origin(fmt::format("layers_test.cpp:{} (update)", line));
  const Tensor other = tanh(next);
  EXPECT_EQ(context.pending().nodes.back().origin.line, static_cast<unsigned>(__LINE__ - 1));
}

TEST_F(Layers, LinearMultipliesByTheTransposedWeightOfPyTorch) {
  const Linear layer(root, "fc", 2, 3, {});
  EXPECT_EQ(parameter("fc.weight").shape, (Shape{3, 2}));
  EXPECT_EQ(parameter("fc.weight").kind, ParameterKind::kMatrix);
  EXPECT_EQ(parameter("fc.bias").kind, ParameterKind::kVector);
  value_of_parameter("fc.weight") = counting(Shape{3, 2});
  value_of_parameter("fc.bias") = counting(Shape{3}, 100);
  EXPECT_THAT(value_of(layer(counting(Shape{1, 2}))), ElementsAre(105, 211, 317));
}

TEST_F(Layers, LinearTakesGpt2sLayoutAndNoBias) {
  const Linear layer(root, "c_attn", 2, 3,
                     {.bias = false, .transposed = false, .weight_init = {}, .bias_init = {}});
  EXPECT_EQ(parameters.all().size(), 1U);
  value_of_parameter("c_attn.weight") = counting(Shape{2, 3});
  EXPECT_THAT(value_of(layer(counting(Shape{1, 1, 2}))), ElementsAre(9, 12, 15));
}

TEST_F(Layers, LinearStartsAsPyTorchsDoes) {
  const Linear layer(root, "fc", 16, 3, {});
  for (const char* name : {"fc.weight", "fc.bias"}) {
    EXPECT_EQ(parameter(name).initializer.kind, Initializer::Kind::kUniform);
    EXPECT_EQ(parameter(name).initializer.a, 0.25) << "1 / sqrt(16)";
  }
}

TEST_F(Layers, EmbeddingTakesRows) {
  const Embedding layer(root, "wte", 4, 2, {.init = Initializer::normal(0.02)});
  value_of_parameter("wte.weight") = counting(Shape{4, 2});
  const Tensor indices = value(HostTensor::of(Shape{1, 3}, std::vector<std::int32_t>{3, 0, 3}));
  const Tensor rows = layer(indices);
  EXPECT_EQ(rows.type().to_string(), "f32[1,3,2]");
  EXPECT_THAT(value_of(rows), ElementsAre(7, 8, 1, 2, 7, 8));
}

TEST_F(Layers, EmbeddingAttendsToItsRows) {
  const Embedding layer(root, "wte", 3, 2, {.init = Initializer::normal(0.02), .attends = true});
  EXPECT_TRUE(parameter("wte.weight").in_dots);
  value_of_parameter("wte.weight") = counting(Shape{3, 2});
  EXPECT_THAT(value_of(layer.attend(counting(Shape{1, 2}))), ElementsAre(5, 11, 17));
}

TEST_F(Layers, TakeTheCopyOfAWeightInTheirDtype) {
  const Linear layer(root, "fc", 2, 1, {.bias = false, .weight_init = {}, .bias_init = {}});
  value_of_parameter("fc.weight") = counting(Shape{1, 2});
  parameters.all()[0].copy = value(from_doubles(DType::kBF16, Shape{1, 2}, std::vector{8.0, 9.0}));
  EXPECT_THAT(value_of(layer(counting(Shape{1, 2}))), ElementsAre(5)) << "1*1 + 2*2: f32";
  const auto in_bf16 = [&] {
    return convert(layer(convert(counting(Shape{1, 2}), DType::kBF16)), DType::kF32);
  };
  EXPECT_THAT(value_of(in_bf16()), ElementsAre(26)) << "1*8 + 2*9: the copy";
}

TEST_F(Layers, Conv2dAddsOneBiasPerChannel) {
  const Conv2d layer(root, "conv", 1, 2, 2, {});
  value_of_parameter("conv.weight") = counting(Shape{2, 1, 2, 2});
  value_of_parameter("conv.bias") = counting(Shape{2}, 1000);
  // Rows 1 2 3 / 4 5 6; channel 0: 1*1 + 2*2 + 4*3 + 5*4, channel 1: 1*5 + 2*6 + 4*7 + 5*8.
  const Tensor y = layer(counting(Shape{1, 1, 2, 3}));
  EXPECT_EQ(y.type().to_string(), "f32[1,2,1,2]");
  EXPECT_THAT(value_of(y), ElementsAre(1037, 1047, 2085, 2111));
}

TEST_F(Layers, Conv2dPadsStridesAndGroups) {
  ConvSpec spec;
  spec.stride = {2, 2};
  spec.padding = {1, 1, 1, 1};
  spec.groups = 2;
  const Conv2d layer(root, "conv", 4, 6, 3, spec);
  EXPECT_EQ(parameter("conv.weight").shape, (Shape{6, 2, 3, 3}));
  EXPECT_NEAR(parameter("conv.weight").initializer.a, 1 / std::sqrt(18.0), 1e-12);
  value_of_parameter("conv.weight") = counting(Shape{6, 2, 3, 3});
  value_of_parameter("conv.bias") = counting(Shape{6});
  EXPECT_EQ(layer(counting(Shape{2, 4, 8, 8})).type().to_string(), "f32[2,6,4,4]");
}

TEST_F(Layers, Conv2dHasNoBiasAndOtherFirstWeightsWhereAsked) {
  const Conv2d layer(root, "conv", 1, 1, 2, {},
                     {.bias = false, .weight_init = Initializer::normal(0.5)});
  ASSERT_EQ(parameters.all().size(), 1U);
  EXPECT_EQ(parameter("conv.weight").initializer.kind, Initializer::Kind::kNormal);
  EXPECT_EQ(parameter("conv.weight").initializer.a, 0.5);
  value_of_parameter("conv.weight") = counting(Shape{1, 1, 2, 2});
  EXPECT_THAT(value_of(layer(counting(Shape{1, 1, 2, 3}))), ElementsAre(37, 47));
}

TEST_F(Layers, Conv2dNeedsGroupsThatDivideItsChannels) {
  ConvSpec spec;
  spec.groups = 3;
  EXPECT_THAT(
      [&] { Conv2d(root, "conv", 4, 6, 3, spec); },
      testing::ThrowsMessage<Error>("convolution 'conv': 3 groups do not divide 4 input and "
                                    "6 output channels"));
}

TEST_F(Layers, KeepTheDtypeOfTheirInputAndF32Parameters) {
  const Linear linear(root, "fc", 2, 3, {});
  const LayerNorm norm(root, "ln", 3);
  const Conv2d convolution(root, "conv", 1, 2, 2, {});
  for (Parameter& p : parameters.all()) p.value = counting(p.shape);
  EXPECT_EQ(norm(linear(convert(counting(Shape{1, 2}), DType::kBF16))).type().to_string(),
            "bf16[1,3]");
  const auto convolve = [&] {
    const Tensor y = convolution(convert(counting(Shape{1, 1, 2, 2}), DType::kBF16));
    EXPECT_EQ(y.type().to_string(), "bf16[1,2,1,1]");
    return convert(y, DType::kF32);
  };
  EXPECT_THAT(value_of(convolve()), ElementsAre(31, 72))
      << "1*1 + 2*2 + 3*3 + 4*4 + 1 and 1*5 + 2*6 + 3*7 + 4*8 + 2";
}

TEST_F(Layers, RecordUnderTheirPathWithTheModelsLine) {
  const Linear layer(root, "h.0.fc", 2, 2, {});
  value_of_parameter("h.0.fc.weight") = counting(Shape{2, 2});
  value_of_parameter("h.0.fc.bias") = counting(Shape{2});
  const Tensor x = counting(Shape{1, 2});
  const int line = __LINE__ + 1;
  const Tensor y = layer(x);
  expect_origin(fmt::format("layers_test.cpp:{} (h.0.fc)", line));
}

TEST_F(Layers, DropoutHappensInTrainingOnly) {
  const Dropout drop(root, "drop", 0.5);
  const Tensor x = counting(Shape{4});
  EXPECT_EQ(drop(x).handle(), x.handle());
  const ModeScope training(context, {.training = true});
  EXPECT_THAT([&] { (void)drop(x); },
              testing::ThrowsMessage<Error>("dropout 0.5 in 'drop' needs a random key"));
}

TEST_F(Layers, DropoutAtTwoPathsDropsDifferentElements) {
  const auto number = [&](double n) { return context.scalar(n, DType::kI64, "n"); };
  const ModeScope training(context,
                           {.training = true, .key = RandomKey{number(1), number(2), number(3)}});
  const Dropout first(root, "h.0.drop", 0.5);
  const Dropout second(root, "h.1.drop", 0.5);
  const Tensor x = counting(Shape{1000});
  const std::vector<float> a = value_of(first(x));
  const std::vector<float> b = value_of(second(x));
  const std::vector<float> again = value_of(first(x));
  EXPECT_NE(a, b);
  EXPECT_EQ(a, again);
}

/// The lines of layers_test.cpp that the pending nodes show, each once.
std::set<std::uint32_t> lines_of(const TraceContext& context) {
  std::set<std::uint32_t> out;
  for (const Node& node : context.pending().nodes) {
    if (node.op == Op::kInput) continue;
    EXPECT_EQ(node.origin.file, "layers_test.cpp") << name_of(node.op);
    out.insert(node.origin.line);
  }
  return out;
}

TEST_F(Layers, AllNodesShowTheModelsLine) {
  const Linear linear(root, "fc", 4, 4, {});
  const LayerNorm norm(root, "ln", 4);
  const Conv2d convolution(root, "conv", 1, 1, 2, {});
  const Embedding embedding(root, "wte", 3, 4, {.init = {}, .attends = true});
  for (Parameter& parameter : parameters.all()) parameter.value = counting(parameter.shape);
  const Tensor x = convert(counting(Shape{2, 4}), DType::kBF16);
  const Tensor image = counting(Shape{1, 1, 4, 4});
  const Tensor indices = value(HostTensor(DType::kI32, Shape{2}));
  std::set<std::uint32_t> lines{__LINE__ - 3};
  (void)norm(linear(x)), lines.insert(__LINE__);
  (void)convolution(image), lines.insert(__LINE__);
  (void)embedding(indices), lines.insert(__LINE__);
  (void)embedding.attend(x), lines.insert(__LINE__);
  EXPECT_EQ(lines_of(context), lines);
}

}  // namespace
}  // namespace lockstep
